set(ROOM_LIBRARIES tik_agent) # whole searches need an agent
set(ROOM_SHARED_FIXTURES workflow_test whole_search_test hosts_test) # the root of a small search is audited once
