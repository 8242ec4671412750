set(ROOM_LIBRARIES tik_spec)
