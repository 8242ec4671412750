set(ROOM_LIBRARIES tik_agent)
