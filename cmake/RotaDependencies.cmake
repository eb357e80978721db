# The third-party packages; each has a decision record in docs/adr/.
# All of them come from the distribution: ./rota-dev setup installs them.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)

# Beast and Asio are header-only. Asio 1.74 uses std::exchange without including <utility>.
add_library(rota_beast INTERFACE)
target_link_libraries(rota_beast INTERFACE Boost::headers Threads::Threads)
target_compile_options(rota_beast INTERFACE "SHELL:-include utility")

# yaml-cpp of this distribution exports a plain target name.
add_library(rota_yaml INTERFACE)
if(TARGET yaml-cpp::yaml-cpp)
  target_link_libraries(rota_yaml INTERFACE yaml-cpp::yaml-cpp)
else()
  target_link_libraries(rota_yaml INTERFACE yaml-cpp)
endif()

if(ROTA_TESTS)
  find_package(GTest REQUIRED)
  find_path(ROTA_RAPIDCHECK_INCLUDE rapidcheck.h REQUIRED)
  find_library(ROTA_RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
  add_library(rota_rapidcheck INTERFACE)
  target_include_directories(rota_rapidcheck SYSTEM INTERFACE ${ROTA_RAPIDCHECK_INCLUDE})
  target_link_libraries(rota_rapidcheck INTERFACE ${ROTA_RAPIDCHECK_LIBRARY})
endif()
if(ROTA_BENCH)
  find_package(benchmark REQUIRED)
endif()
