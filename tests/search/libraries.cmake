set(ROOM_LIBRARIES tik_agent) # whole searches need an agent
