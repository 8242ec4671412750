# Included once a test: the libraries under test are made by the first inclusion.
set(ROOM_LIBRARIES tik_attention_reference tik_attention_candidates ${CMAKE_DL_LIBS})

if(NOT TARGET tik_attention_candidates)
  set(attention_root ${CMAKE_SOURCE_DIR}/operators/attention/cpu)
  file(GLOB attention_root_files CONFIGURE_DEPENDS ${attention_root}/*)
  add_executable(apply_moves ${CMAKE_CURRENT_LIST_DIR}/apply_moves.cpp)
  target_link_libraries(apply_moves PRIVATE tik_spec)
  add_library(tik_attention_candidates INTERFACE)
  target_compile_definitions(tik_attention_candidates INTERFACE TIK_ATTENTION_LIBRARIES="${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
  add_dependencies(tik_attention_candidates tik_attention_cpu)

  # libtik_attention_cpu_NAME.so: the root after moves of its manifest, compiled with its own options.
  function(tik_attention_candidate name)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/attention/${name})
    add_custom_command(OUTPUT ${folder}/full.cpp ${folder}/decode.cpp ${folder}/check.cpp
                       COMMAND apply_moves ${attention_root} ${folder} ${ARGN}
                       DEPENDS apply_moves ${attention_root_files} VERBATIM)
    add_library(tik_attention_cpu_${name} SHARED ${folder}/full.cpp ${folder}/decode.cpp ${folder}/check.cpp)
    target_compile_options(tik_attention_cpu_${name} PRIVATE @${folder}/compile.options -march=x86-64-v3 -ffp-contract=off
                           $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
    target_link_options(tik_attention_cpu_${name} PRIVATE -Wl,-Bsymbolic)
    add_dependencies(tik_attention_candidates tik_attention_cpu_${name})
  endfunction()

  # The best combination known; one of other lanes and tiles that reads the cache unconverted; two whose entry points differ; an
  # inaccurate one.
  tik_attention_candidate(fast dot_lanes=8 optimize-more values-by-row polynomial-exponential fused-multiply-add explicit-vectors
                          sum_lanes=8 pack-tile query-block group-heads tile_keys=64 query_block=32)
  tik_attention_candidate(mixed dot_lanes=32 tile_keys=8 sum_lanes=8 values-by-row explicit-vectors group-heads decode-prefetch
                          skip-unit-rescale)
  tik_attention_candidate(wider_decode decode-wider-tile)
  tik_attention_candidate(newest_first full-newest-first)
  tik_attention_candidate(coarse polynomial-exponential linear-exponential)
endif()
