set(ROOM_LIBRARIES tik_ir)
