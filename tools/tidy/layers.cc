#include "tools/tidy/layers.h"

#include <cstddef>
#include <sstream>

namespace rota::tidy {
namespace {

constexpr std::string_view kCall = "rota_module(";

bool is_keyword(std::string_view word) {
  for (const std::string_view keyword : {"PURE", "DIR", "DEPENDS", "LIBS", "PCH", "EXCLUDE",
                                         "TEST_DEPENDS", "TEST_LIBS", "TEST_SHARDS"}) {
    if (word == keyword) return true;
  }
  return false;
}

void add_closed(std::set<std::string>& into, const std::string& name, const Layers& layers) {
  into.insert(name);
  if (const Module* known = layers.find(name)) {
    into.insert(known->depends.begin(), known->depends.end());
  }
}

void read_call(std::string_view arguments, Layers& layers) {
  std::istringstream words{std::string(arguments)};
  std::string name;
  words >> name;
  Module module;
  module.depends.insert(name);
  std::string section;
  for (std::string word; words >> word;) {
    if (word == "PURE") module.pure = true;
    if (is_keyword(word)) {
      section = word;
    } else if (section == "DEPENDS") {
      add_closed(module.depends, word, layers);
    } else if (section == "TEST_DEPENDS") {
      add_closed(module.test_depends, word, layers);
    }
  }
  layers.modules[name] = module;
}

}  // namespace

const Module* Layers::find(std::string_view name) const {
  const auto found = modules.find(std::string(name));
  return found == modules.end() ? nullptr : &found->second;
}

Layers read_layers(std::string_view cmake_lists) {
  Layers layers;
  for (std::size_t at = cmake_lists.find(kCall); at != std::string_view::npos;
       at = cmake_lists.find(kCall, at + 1)) {
    if (at > 0 && cmake_lists[at - 1] != '\n') continue;
    const std::size_t start = at + kCall.size();
    const std::size_t end = cmake_lists.find(')', start);
    read_call(cmake_lists.substr(start, end - start), layers);
  }
  return layers;
}

}  // namespace rota::tidy
