# rota_module(): one folder of src/ is one library and one test executable.

# The aggregate that builds every unit test; the sanitizer builds ask for it alone.
add_custom_target(unit_tests)

# rota_gtest(NAME SOURCES ... LINK ... [LABEL label] [SHARDS n])
# Makes a GoogleTest executable and registers it with ctest, once or in n shards.
function(rota_gtest NAME)
  cmake_parse_arguments(ARG "" "LABEL;SHARDS;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  set_target_properties(${NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-bin)
  target_link_libraries(${NAME} PRIVATE
    ${ARG_LINK} rota_flags rota_rapidcheck GTest::gmock GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE
    ROTA_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ROTA_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(index RANGE ${last})
    set(test ${NAME})
    if(ARG_SHARDS GREATER 1)
      set(test ${NAME}_${index})
    endif()
    add_test(NAME ${test} COMMAND ${NAME} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set(environment "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/gtest/${test}.xml"
      "ROTA_SOURCE_DIR=${CMAKE_SOURCE_DIR}" "ROTA_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
    if(ARG_SHARDS GREATER 1)
      list(APPEND environment GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index})
    endif()
    set_tests_properties(${test} PROPERTIES
      LABELS "gtest;${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# rota_module(NAME [PURE] [DIR folder] [DEPENDS modules] [LIBS libraries] [PCH headers]
#             [TEST_DEPENDS modules] [TEST_LIBS libraries] [TEST_SHARDS n]
#             [UNITY n] [ALONE patterns])
#
# Makes the library rota_NAME of all *.cc below src/NAME (or DIR) and the test NAME_test of all
# *_test.cc there. A module without sources is an INTERFACE library that passes on its
# dependencies. PURE modules may name no LIBS and depend on PURE modules alone.
# UNITY compiles n sources together, since most of the time goes into the headers they share;
# ALONE names sources that keep a translation unit of their own.
# tools/tidy reads these calls and checks every #include against DEPENDS.
function(rota_module NAME)
  cmake_parse_arguments(ARG "PURE" "DIR;TEST_SHARDS;UNITY"
    "DEPENDS;LIBS;PCH;EXCLUDE;ALONE;TEST_DEPENDS;TEST_LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rota_module(${NAME}): unknown words '${ARG_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT ARG_DIR)
    set(ARG_DIR src/${NAME})
  endif()
  if(ARG_PURE AND ARG_LIBS)
    message(FATAL_ERROR "rota_module(${NAME}): a PURE module links no library: ${ARG_LIBS}")
  endif()
  set_property(GLOBAL PROPERTY rota_pure_${NAME} ${ARG_PURE})
  set_property(GLOBAL APPEND PROPERTY rota_modules ${NAME})

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ARG_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
    list(FILTER tests EXCLUDE REGEX "${pattern}")
  endforeach()

  set(links ${ARG_LIBS})
  foreach(module IN LISTS ARG_DEPENDS)
    if(NOT TARGET rota_${module})
      message(FATAL_ERROR "rota_module(${NAME}): module '${module}' must be declared earlier")
    endif()
    get_property(pure GLOBAL PROPERTY rota_pure_${module})
    if(ARG_PURE AND NOT pure)
      message(FATAL_ERROR "rota_module(${NAME}): a PURE module cannot depend on '${module}'")
    endif()
    list(APPEND links rota_${module})
  endforeach()

  if(sources)
    add_library(rota_${NAME} STATIC ${sources})
    target_link_libraries(rota_${NAME} PUBLIC ${links} PRIVATE rota_flags)
    target_include_directories(rota_${NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
    if(ARG_UNITY AND ROTA_UNITY)
      set_target_properties(rota_${NAME} PROPERTIES
        UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ARG_UNITY})
      foreach(pattern IN LISTS ARG_ALONE)
        set(alone ${sources})
        list(FILTER alone INCLUDE REGEX "${pattern}")
        set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endforeach()
    elseif(ROTA_PCH AND ARG_PCH)
      target_precompile_headers(rota_${NAME} PRIVATE ${ARG_PCH})
    endif()
  else()
    add_library(rota_${NAME} INTERFACE)
    target_link_libraries(rota_${NAME} INTERFACE ${links})
    target_include_directories(rota_${NAME} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  endif()

  if(ROTA_TESTS AND tests)
    set(test_links ${ARG_TEST_LIBS})
    foreach(module IN LISTS ARG_TEST_DEPENDS)
      list(APPEND test_links rota_${module})
    endforeach()
    rota_gtest(${NAME}_test SOURCES ${tests} LINK rota_${NAME} ${test_links}
      SHARDS ${ARG_TEST_SHARDS})
    add_dependencies(unit_tests ${NAME}_test)
    list(LENGTH tests test_count)
    if(ROTA_PCH AND ARG_PCH AND test_count GREATER 2)
      target_precompile_headers(${NAME}_test PRIVATE ${ARG_PCH})
    endif()
  endif()
endfunction()
