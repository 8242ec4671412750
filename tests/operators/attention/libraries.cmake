set(ROOM_LIBRARIES tik_attention_reference tik_spec ${CMAKE_DL_LIBS})
