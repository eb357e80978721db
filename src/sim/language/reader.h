// Reads the arguments of one statement as typed values; every error is reported where it stands.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "model/fields.h"
#include "sim/language/lexer.h"
#include "sim/language/symbols.h"
#include "sim/scenario.h"

namespace rota::sim {

/// Everything the parser knows while it reads a file.
struct ParseState {
  explicit ParseState(std::string_view file) : errors(file) { scenario.file = file; }

  Scenario scenario;
  Symbols symbols;
  Errors errors;
  std::optional<Instant> at;           // of the block being read; none: the stage
  std::uint64_t ids_given = 0;         // jobs and groups share one counter
  bool policy_seen[32] = {};
};

/// One statement's arguments. Lives as long as `line` and `state`.
class Reader {
 public:
  Reader(const Line& line, ParseState& state) : line_(line), state_(state) {}

  [[nodiscard]] ParseState& state() const { return state_; }
  [[nodiscard]] const Line& line() const { return line_; }

  /// Reports keys not in `known` (`label.` allows any label), keys given twice, and operators other
  /// than `=`.
  void check_keys(const std::vector<std::string>& known) const;
  [[nodiscard]] const Argument* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  void error(const Argument& at, std::string message) const;        // at the value
  void error_at(std::int64_t column, std::string message) const;

  /// The plain words: exactly one is expected, called `what` in errors.
  [[nodiscard]] std::optional<Word> one_word(std::string_view what) const;
  /// ... expanded to names; empty after an error.
  [[nodiscard]] std::vector<std::string> names(std::string_view what) const;
  /// ... expanded to names of declared nodes; empty after an error.
  [[nodiscard]] std::vector<std::string> node_names() const;

  // A missing key gives nothing; a bad value gives nothing and an error.
  [[nodiscard]] std::optional<Duration> duration(std::string_view key) const;
  [[nodiscard]] std::optional<Duration> positive_duration(std::string_view key) const;
  [[nodiscard]] std::optional<Instant> instant(std::string_view key) const;
  [[nodiscard]] std::optional<Bytes> bytes(std::string_view key) const;
  [[nodiscard]] std::optional<MilliGpu> gpus(std::string_view key) const;
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key, Range range) const;
  [[nodiscard]] std::optional<std::int64_t> decimal(std::string_view key, int digits) const;
  [[nodiscard]] std::optional<std::string> name(std::string_view key) const;

  /// The enumerator whose name is the value.
  template <NamedEnum E>
  [[nodiscard]] std::optional<E> choice(std::string_view key) const {
    const auto index = choice_index(key, words_of<E>());
    if (!index) return std::nullopt;
    return static_cast<E>(*index);
  }
  /// Position of the value in `words`.
  [[nodiscard]] std::optional<std::size_t> choice_index(
      std::string_view key, const std::vector<std::string>& words) const;

  template <NamedEnum E>
  static std::vector<std::string> words_of() {
    std::vector<std::string> words;
    for (const auto word : names_of(E{})) words.emplace_back(word);
    return words;
  }

 private:
  template <class T>
  std::optional<T> parsed(std::string_view key, Result<T> (*parse)(std::string_view)) const;

  const Line& line_;
  ParseState& state_;
};

/// `n1` or `n1:0-3` or `n1:0@4`, comma separated, expanded to single devices. Checks that nodes and
/// devices exist. Empty after an error, which is reported at `column`.
std::vector<DeviceName> parse_devices(std::string_view text, std::int64_t line,
                                      std::int64_t column, ParseState& state);

/// The jobs that NAMES stands for. Empty after an error. `many`: NAMES is a list, a range or a
/// group.
struct ResolvedJobs {
  std::vector<std::size_t> jobs;
  bool many = false;
  bool by_group = false;
};
ResolvedJobs resolve_jobs(const Word& names, std::int64_t line, ParseState& state);

}  // namespace rota::sim
