// How far the journal has ever come, in a small file of its own beside it: a journal that lost its
// end (a damaged or deleted write-ahead file, an old copy put back) looks sound by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace rota::store {

/// Numbers that must never go back; written with the transaction that moved them.
struct Counters {
  std::int64_t id = 0;
  std::int64_t submission = 0;
  std::int64_t journal = 0;
  std::int64_t event = 0;

  friend bool operator==(const Counters&, const Counters&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id);
    visit("submission", self.submission);
    visit("journal", self.journal);
    visit("event", self.event);
  }
};

/// `<folder>/high-water`. It may lag behind the journal, by what a power failure takes from it, but
/// is never ahead of it: it is written after each commit and flushed every thousand journal rows.
class HighWater {
 public:
  /// Error: kUnavailable.
  static Result<std::unique_ptr<HighWater>> open(const std::string& folder);
  ~HighWater();
  HighWater(const HighWater&) = delete;
  HighWater& operator=(const HighWater&) = delete;

  /// What was written last; nothing when there is none, or it cannot be read.
  [[nodiscard]] std::optional<Counters> read() const;
  /// Best effort: a full disk must not stop what the journal itself could take.
  void write(const Counters& counters);

 private:
  explicit HighWater(int file) : file_(file) {}
  int file_;
  std::int64_t flushed_ = 0;  // journal row
};

}  // namespace rota::store
