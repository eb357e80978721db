#include "sim/language/diagnose.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace rota::sim {

void Errors::add(std::int64_t line, std::int64_t column, std::string message) {
  if (full()) return;
  const Diagnostic again{file_, line, column, message};
  if (std::find(list_.begin(), list_.end(), again) != list_.end()) return;
  if (list_.size() == kErrorsMax) message = "more than 100 errors; the rest is not shown";
  list_.push_back(Diagnostic{file_, line, column, std::move(message)});
}

std::vector<Diagnostic> Errors::take() {
  std::stable_sort(list_.begin(), list_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return std::exchange(list_, {});
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string unknown_word(std::string_view what, std::string_view word,
                         const std::vector<std::string>& candidates) {
  constexpr std::size_t kListed = 40;
  const std::string begin = "unknown " + std::string(what) + " " + quoted(word);
  if (candidates.empty()) return begin + ": none is declared";
  const std::string_view nearest = nearest_word(word, candidates);
  if (!nearest.empty()) return begin + "; did you mean " + quoted(nearest) + "?";
  if (candidates.size() == 1) return begin + ": expected " + candidates[0];
  if (candidates.size() > kListed) return begin;
  return begin + ": expected one of " + join(candidates, ", ");
}

}  // namespace rota::sim
