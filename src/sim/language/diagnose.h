// Collects the errors of one file and words those about unknown names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario.h"

namespace rota::sim {

/// Errors in the order found; an error reported again (a class's line is read for each of its jobs)
/// counts once. After `kErrorsMax` one last error says so and the rest is dropped.
class Errors {
 public:
  static constexpr std::size_t kErrorsMax = 100;

  explicit Errors(std::string_view file) : file_(file) {}
  void add(std::int64_t line, std::int64_t column, std::string message);
  [[nodiscard]] std::size_t count() const { return list_.size(); }
  [[nodiscard]] bool full() const { return list_.size() > kErrorsMax; }
  /// In file order; ties keep the order found.
  [[nodiscard]] std::vector<Diagnostic> take();

 private:
  std::string file_;
  std::vector<Diagnostic> list_;
};

/// `unknown WHAT 'WORD'; did you mean 'NEAREST'?`, or `: expected one of a, b` when nothing is near
/// and there are at most 40 candidates; `: none is declared` when there is no candidate at all.
std::string unknown_word(std::string_view what, std::string_view word,
                         const std::vector<std::string>& candidates);

std::string quoted(std::string_view text);

}  // namespace rota::sim
