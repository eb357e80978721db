#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace rota::tidy {

struct Module {
  bool pure = false;
  std::set<std::string> depends;       // direct and indirect, and the module itself
  std::set<std::string> test_depends;  // what its tests may use on top
};

/// Which module may include which: the rota_module() lines of CMakeLists.txt, closed over.
struct Layers {
  std::map<std::string, Module> modules;

  [[nodiscard]] const Module* find(std::string_view name) const;
};

/// Reads the rota_module() calls of a CMakeLists.txt. A dependency must be declared above its
/// user (CMake refuses the rest), so one pass is enough and a cycle cannot be written.
[[nodiscard]] Layers read_layers(std::string_view cmake_lists);

}  // namespace rota::tidy
