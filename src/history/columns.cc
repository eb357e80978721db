#include "history/columns.h"

#include <algorithm>

#include "base/text.h"

namespace rota::history {

std::uint32_t NameColumn::number(Name name) {
  if (name.empty()) return 0;
  std::uint32_t& number = numbers_[name.index];
  if (number == 0) {
    number = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(history_.text(name));
  }
  return number;
}

std::uint32_t NodeLists::number(Name text) {
  if (text.empty()) return 0;
  std::uint32_t& number = numbers_[text.index];
  if (number != 0) return number;
  number = static_cast<std::uint32_t>(lists_.size());
  std::string written(history_.text(text));
  std::replace(written.begin(), written.end(), '+', ',');
  const auto names = expand_names(written);
  std::vector<std::uint32_t> list;
  if (names) {
    for (const std::string& name : *names) list.push_back(node(name));
  } else {
    list.push_back(node(std::string(history_.text(text))));
  }
  lists_.push_back(std::move(list));
  return number;
}

std::uint32_t NodeLists::node(const std::string& name) {
  const auto [found, is_new] =
      by_name_.try_emplace(name, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) nodes_.push_back(name);
  return found->second;
}

}  // namespace rota::history
