set(ROOM_LIBRARIES tik_agent)
set(ROOM_SHARED_FIXTURES toolbox_test) # the root of a small search is audited once
