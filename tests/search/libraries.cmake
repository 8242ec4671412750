set(ROOM_LIBRARIES tik_search)
