// Where the GPU time that was held went: each GPU-second stands in exactly one line.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "audit/work.h"

namespace rota::audit {

enum class Line : std::uint8_t {
  kBusy,         // of completed and running work, measured: the GPUs computed
  kIdle,         // of the same, measured: held while they computed nothing
  kCompleted,    // ended well; whether the GPUs were busy was not measured
  kRunning,      // not over; not measured
  kFailed,
  kOutOfMemory,
  kTimeLimit,
  kCancelled,
  kPreempted,
  kRequeued,
  kNodeFailed,
  kUnknown,      // the source does not say how it ended
};
constexpr int kLines = 12;
/// `busy`, `idle`, `completed_unmeasured`, ...: permanent words of JSON and CSV.
[[nodiscard]] std::string_view line_word(Line line);
/// For people.
[[nodiscard]] std::string_view line_name(Line line);
/// Time that brought no result, or may have brought none: all ends but a good one.
[[nodiscard]] bool is_lost(Line line);

struct LedgerLine {
  GpuTime gpu_time = 0;
  std::int64_t runs = 0;  // a measured run counts as busy and as idle, with a part in each
};

struct Ledger {
  std::array<LedgerLine, kLines> lines{};
  GpuTime held = 0;      // counted by itself; the sum of all lines
  GpuTime measured = 0;  // of it with utilisation told

  [[nodiscard]] const LedgerLine& line(Line which) const {
    return lines[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] GpuTime lost() const;
};

struct Ledgers {
  Ledger all;
  std::vector<Ledger> by_team;       // by number of owner
  GpuTime busy = 0;                  // of all measured time, however it ended: for utilisation
  std::int64_t gpus_unknown = 0;     // runs of some length whose GPUs are not told
  std::int64_t length_unknown = 0;   // runs that started, whose length is not told
  std::int64_t without_gpus = 0;     // runs that held none
};

/// O(n). Utilisation splits a run to the nanosecond, cut towards idle.
[[nodiscard]] Ledgers measure_ledger(const Work& work, const Window& window);

}  // namespace rota::audit
