set(ROOM_LIBRARIES tik_evaluator)
