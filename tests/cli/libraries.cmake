set(ROOM_LIBRARIES tik_report tik_checked_libraries)
set(ROOM_SHARED_FIXTURES hosts_test) # one search with a batch is made once

# Libraries of operators for `tik check`: that for CPUs, and the same with a fault (changed_operators.cpp).
if(NOT TARGET tik_checked_libraries)
  set(folder ${CMAKE_SOURCE_DIR}/tests/cli)
  set(attention ${CMAKE_SOURCE_DIR}/operators/attention/cpu)
  add_library(tik_changed_operators SHARED ${folder}/changed_operators.cpp ${folder}/changed_decode.cpp ${attention}/full.cpp
                                           ${attention}/check.cpp $<TARGET_OBJECTS:tik_operators_cpu_objects>)
  target_compile_options(tik_changed_operators PRIVATE -O2 -march=x86-64-v3 -ffp-contract=off)
  target_link_libraries(tik_changed_operators PRIVATE tik_operators_host)
  target_link_options(tik_changed_operators PRIVATE -Wl,-Bsymbolic)
  add_library(tik_checked_libraries INTERFACE)
  target_compile_definitions(tik_checked_libraries INTERFACE TIK_LIBRARY_FOLDER="${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
  add_dependencies(tik_checked_libraries tik_changed_operators tik_operators_cpu_shared)
endif()
