# Tests that belong to no single module, the scenarios, benchmarks and fuzz targets.
# Each folder is globbed; a folder that does not exist adds nothing.

get_property(rota_modules GLOBAL PROPERTY rota_modules)
set(rota_everything)
foreach(module IN LISTS rota_modules)
  list(APPEND rota_everything rota_${module})
endforeach()

function(rota_test_folder FOLDER)
  cmake_parse_arguments(ARG "" "SHARDS" "" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${FOLDER}/*.cc)
  if(sources)
    rota_gtest(${FOLDER}_test SOURCES ${sources} LINK ${rota_everything}
      LABEL ${FOLDER} SHARDS ${ARG_SHARDS})
    foreach(program rota rota-shim)
      if(TARGET ${program})
        add_dependencies(${FOLDER}_test ${program})
      endif()
    endforeach()
  endif()
endfunction()

if(ROTA_TESTS)
  rota_test_folder(property SHARDS 2)
  rota_test_folder(simulation SHARDS 2)
  rota_test_folder(conformance)
  rota_test_folder(e2e)

  # tests/e2e/*_test.sh: each script is one test; it finds the programs in $ROTA_BIN_DIR.
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/e2e/*_test.sh)
  foreach(script IN LISTS scripts)
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME e2e_${name} COMMAND bash ${script} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(e2e_${name} PROPERTIES LABELS "e2e" TIMEOUT 300
      ENVIRONMENT "ROTA_BIN_DIR=${CMAKE_BINARY_DIR}/bin;ROTA_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
  endforeach()

  # tests/scenarios: every folder with scenario files is one test.
  if(TARGET rota)
    file(GLOB_RECURSE scenarios CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
      ${CMAKE_SOURCE_DIR}/tests/scenarios/*.scenario)
    set(folders)
    foreach(scenario IN LISTS scenarios)
      get_filename_component(folder ${scenario} DIRECTORY)
      string(MAKE_C_IDENTIFIER ${folder} key)
      list(APPEND folders ${folder})
      list(APPEND files_${key} ${scenario})
    endforeach()
    list(REMOVE_DUPLICATES folders)
    foreach(folder IN LISTS folders)
      string(MAKE_C_IDENTIFIER ${folder} key)
      string(REGEX REPLACE "^tests/" "" name ${folder})
      string(REPLACE "/" "_" name ${name})
      add_test(NAME ${name} COMMAND rota sim --quiet ${files_${key}}
        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      set_tests_properties(${name} PROPERTIES LABELS "scenario" TIMEOUT 300)
    endforeach()
  endif()
endif()

# bench/*_bench.cc: one google-benchmark program each.
if(ROTA_BENCH)
  add_custom_target(benchmarks)
  file(GLOB benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*_bench.cc)
  foreach(bench IN LISTS benches)
    get_filename_component(name ${bench} NAME_WE)
    add_executable(${name} ${bench})
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench-bin)
    target_link_libraries(${name} PRIVATE ${rota_everything} rota_flags
      benchmark::benchmark benchmark::benchmark_main)
    add_dependencies(benchmarks ${name})
  endforeach()
  # Run under callgrind by bench/instructions.sh.
  add_executable(instruction_count ${CMAKE_SOURCE_DIR}/bench/instruction_count.cc)
  set_target_properties(instruction_count PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench-bin)
  target_link_libraries(instruction_count PRIVATE rota_engine rota_flags)
  add_dependencies(benchmarks instruction_count)
endif()

# fuzz/*_fuzz.cc: one libFuzzer program each; fuzz/corpus/NAME holds its first inputs.
if(ROTA_FUZZ)
  add_custom_target(fuzzers)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc)
  foreach(fuzzer IN LISTS fuzzers)
    get_filename_component(name ${fuzzer} NAME_WE)
    add_executable(${name} ${fuzzer})
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz-bin)
    target_link_libraries(${name} PRIVATE ${rota_everything} rota_flags)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  endforeach()
endif()
