# Options, compiler flags, compiler cache and linker for everything that Rota builds.

option(ROTA_TESTS "Build the tests" ON)
option(ROTA_BENCH "Build the benchmarks" OFF)
option(ROTA_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(ROTA_PCH "Precompile the heavy third-party headers" ON)
option(ROTA_UNITY "Compile several sources of the heavy modules together" ON)
option(ROTA_WERROR "Turn warnings into errors" ON)
set(ROTA_SANITIZE "" CACHE STRING "Sanitizers of the build: 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Debug CACHE STRING "Debug or Release" FORCE)
endif()
# No build type defines NDEBUG: check() and the C++ library's cheap assertions stay on everywhere.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

find_program(ROTA_CCACHE ccache)
if(ROTA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for before it caches users of precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${ROTA_CCACHE})
endif()

# Flags of our own code; third-party headers live in system folders and are exempt.
add_library(rota_flags INTERFACE)
target_compile_options(rota_flags INTERFACE -Wall -Wextra -Wpedantic)
if(ROTA_WERROR)
  target_compile_options(rota_flags INTERFACE -Werror)
endif()
target_compile_options(rota_flags INTERFACE -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports false positives of these inside its own string and variant headers.
  target_compile_options(rota_flags INTERFACE -Wno-restrict -Wno-stringop-overflow
    -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized)
  if(ROTA_CCACHE)
    target_compile_options(rota_flags INTERFACE -fpch-preprocess)
  endif()
endif()
target_compile_definitions(rota_flags INTERFACE _GLIBCXX_ASSERTIONS)
target_include_directories(rota_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})

find_program(ROTA_MOLD NAMES mold)
find_program(ROTA_LLD NAMES ld.lld)
if(ROTA_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(ROTA_LLD)
  add_link_options(-fuse-ld=lld)
endif()

if(ROTA_SANITIZE)
  add_compile_options(-fsanitize=${ROTA_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ROTA_SANITIZE})
  if(ROTA_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(ROTA_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio's fences are unknown to the thread sanitizer; its locks are known.
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(ROTA_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ROTA_FUZZ needs clang: configure with --preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
