set(ROOM_LIBRARIES tik_report)
