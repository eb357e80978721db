#include "audit/usage_lines.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace rota::audit {
namespace {

/// Amounts of one pool between two events.
struct Level {
  std::int64_t held = 0;
  std::int64_t out = 0;
  std::int64_t wanted = 0;
};

struct Step {
  Instant at;
  std::size_t pool = 0;  // that behind the last: waits for any pool
  std::int64_t Level::*field = nullptr;
  std::int64_t change = 0;
};

class Sweep {
 public:
  explicit Sweep(const UsageInput& input)
      : input_(input), levels_(input.capacity.size() + 1), lines_(input.capacity.size()) {}

  std::vector<PoolLines> run() {
    for (const UsageHold& hold : input_.holds) add(hold, hold.pool, &Level::held);
    for (const UsageOutage& outage : input_.outages) add(outage, outage.pool, &Level::out);
    for (const UsageWait& wait : input_.waits) {
      add(wait, wait.pool.value_or(static_cast<std::uint32_t>(lines_.size())), &Level::wanted);
    }
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      return a.at < b.at;  // sums of one instant do not depend on their order
    });
    Instant since = input_.begin;
    for (std::size_t i = 0; i < steps_.size();) {
      const Instant at = steps_[i].at;
      pass((at - since).ns());
      since = at;
      for (; i < steps_.size() && steps_[i].at == at; ++i) {
        levels_[steps_[i].pool].*steps_[i].field += steps_[i].change;
      }
    }
    pass((input_.end - since).ns());
    return std::move(lines_);
  }

 private:
  template <class Stretch>
  void add(const Stretch& stretch, std::size_t pool, std::int64_t Level::*field) {
    const Instant begin = std::max(stretch.begin, input_.begin);
    const Instant end = std::min(stretch.end, input_.end);
    if (begin >= end) return;
    steps_.push_back({begin, pool, field, stretch.gpus.value()});
    steps_.push_back({end, pool, field, -stretch.gpus.value()});
  }

  void pass(std::int64_t ns) {
    if (ns == 0) return;
    std::int64_t wanted_anywhere = levels_.back().wanted;
    for (std::size_t pool = 0; pool < lines_.size(); ++pool) {
      const Level& level = levels_[pool];
      PoolLines& lines = lines_[pool];
      const std::int64_t capacity = input_.capacity[pool].value();
      const std::int64_t in_service = capacity - std::min(level.out, capacity);
      const std::int64_t idle = std::max<std::int64_t>(0, in_service - level.held);
      const std::int64_t unheld = std::max<std::int64_t>(0, capacity - level.held);
      const std::int64_t anywhere =
          std::min(wanted_anywhere, idle - std::min(idle, level.wanted));
      wanted_anywhere -= anywhere;
      const Int128 time = ns;
      lines.capacity += time * capacity;
      lines.idle += time * idle;
      lines.idle_wanted += time * (std::min(idle, level.wanted) + anywhere);
      lines.drained += time * (unheld - idle);
      lines.beyond += time * std::max<std::int64_t>(0, level.held - capacity);
      lines.held_max = std::max(lines.held_max, MilliGpu(level.held));
    }
  }

  const UsageInput& input_;
  std::vector<Level> levels_;
  std::vector<PoolLines> lines_;
  std::vector<Step> steps_;
};

}  // namespace

Int128 sum_of(const HeldTime& held) {
  return std::accumulate(held.begin(), held.end(), Int128{0});
}

UsageLines measure_usage(const UsageInput& input) {
  UsageLines result;
  result.pool_count = input.capacity.size();
  result.held.resize(result.pool_count * input.groups);
  for (const UsageHold& hold : input.holds) {
    const Instant begin = std::max(hold.begin, input.begin);
    const Instant end = std::min(hold.end, input.end);
    if (begin >= end) continue;
    result.held[hold.group * result.pool_count + hold.pool][static_cast<std::size_t>(hold.kind)] +=
        Int128{hold.gpus.value()} * (end - begin).ns();
  }
  result.pools = Sweep(input).run();
  return result;
}

std::optional<MilliGpu> partition_size(std::string_view model, std::string_view profile) {
  if (profile.size() < 2 || profile[0] < '1' || profile[0] > '7' || profile[1] != 'g') {
    return std::nullopt;
  }
  std::string small;
  for (const char c : model) {
    if (c >= 'A' && c <= 'Z') small += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) small += c;
  }
  const bool is_quartered =
      small.ends_with("a30") || small.find("rtxpro6000") != std::string::npos;
  const std::int64_t slices = profile[0] - '0';
  return MilliGpu(std::min<std::int64_t>(1000, slices * 1000 / (is_quartered ? 4 : 7)));
}

}  // namespace rota::audit
