set(ROOM_LIBRARIES tik_report)
set(ROOM_SHARED_FIXTURES hosts_test) # one search with a batch is made once
