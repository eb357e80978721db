#include "audit/usage_lines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace rota::audit {
namespace {

Instant hour(std::int64_t n) { return Instant() + Duration::hours(n); }
Int128 gpu_hours(std::int64_t n) { return Int128{n} * 1000 * Duration::hours(1).ns(); }

UsageInput one_pool(std::int64_t gpus, std::int64_t hours) {
  UsageInput input;
  input.begin = hour(0);
  input.end = hour(hours);
  input.capacity = {whole_gpus(gpus)};
  input.groups = 1;
  return input;
}

TEST(UsageLines, NobodyHoldsAnything) {
  const UsageLines lines = measure_usage(one_pool(4, 10));
  EXPECT_EQ(lines.pools[0].capacity, gpu_hours(40));
  EXPECT_EQ(lines.pools[0].idle, gpu_hours(40));
  EXPECT_EQ(sum_of(lines.of(0, 0)), 0);
}

TEST(UsageLines, OnlyThePeriodCounts) {
  UsageInput input = one_pool(4, 10);
  input.holds = {{hour(-5), hour(2), whole_gpus(1), 0, 0, HeldKind::kUsed},
                 {hour(9), hour(20), whole_gpus(2), 0, 0, HeldKind::kFailed},
                 {hour(-3), hour(0), whole_gpus(4), 0, 0, HeldKind::kFailed},
                 {hour(10), hour(11), whole_gpus(4), 0, 0, HeldKind::kFailed}};
  const UsageLines lines = measure_usage(input);
  EXPECT_EQ(lines.of(0, 0)[0], gpu_hours(2));
  EXPECT_EQ(lines.of(0, 0)[1], gpu_hours(2));
  EXPECT_EQ(lines.pools[0].idle, gpu_hours(36));
  EXPECT_EQ(lines.pools[0].held_max, whole_gpus(2));
}

TEST(UsageLines, DrainedDevicesThatAreHeldAreNotDrained) {
  UsageInput input = one_pool(4, 10);
  input.outages = {{hour(0), hour(10), whole_gpus(3), 0}};
  input.holds = {{hour(0), hour(5), whole_gpus(2), 0, 0, HeldKind::kUsed}};
  const UsageLines lines = measure_usage(input);
  EXPECT_EQ(lines.pools[0].idle, gpu_hours(5));  // one in service, free behind the fifth hour
  EXPECT_EQ(lines.pools[0].drained, gpu_hours(25));
  EXPECT_EQ(lines.pools[0].beyond, 0);
}

TEST(UsageLines, MoreHeldThanThereIsHasALineOfItsOwn) {
  UsageInput input = one_pool(1, 4);
  input.holds = {{hour(0), hour(2), whole_gpus(3), 0, 0, HeldKind::kUsed}};
  const UsageLines lines = measure_usage(input);
  EXPECT_EQ(sum_of(lines.of(0, 0)), gpu_hours(6));
  EXPECT_EQ(lines.pools[0].beyond, gpu_hours(4));
  EXPECT_EQ(lines.pools[0].idle, gpu_hours(2));
}

TEST(UsageLines, IdleWhileSomebodyWaited) {
  UsageInput input = one_pool(4, 10);
  input.capacity.push_back(whole_gpus(2));
  input.holds = {{hour(0), hour(10), whole_gpus(3), 0, 0, HeldKind::kUsed}};
  input.waits = {{hour(2), hour(4), whole_gpus(8), 0}, {hour(6), hour(7), whole_gpus(2), {}}};
  const UsageLines lines = measure_usage(input);
  EXPECT_EQ(lines.pools[0].idle_wanted, gpu_hours(2 + 1));
  EXPECT_EQ(lines.pools[1].idle_wanted, gpu_hours(1));  // what the first pool could not give
}

TEST(UsageLines, PartsOfACard) {
  EXPECT_EQ(partition_size("a100", "3g.40gb"), MilliGpu(428));
  EXPECT_EQ(partition_size("h100", "7g.80gb"), MilliGpu(1000));
  EXPECT_EQ(partition_size("", "1g.10gb+me"), MilliGpu(142));
  EXPECT_EQ(partition_size("NVIDIA A30", "1g.6gb"), MilliGpu(250));
  EXPECT_EQ(partition_size("rtx-pro-6000", "2g.48gb"), MilliGpu(500));
  EXPECT_EQ(partition_size("a300", "1g.6gb"), MilliGpu(142));
  EXPECT_EQ(partition_size("a100", "shard"), std::nullopt);
  EXPECT_EQ(partition_size("a100", ""), std::nullopt);
  EXPECT_EQ(partition_size("a100", "9g.1gb"), std::nullopt);
}

struct RandomUsage {
  explicit RandomUsage(std::uint64_t seed) : random(seed) {}
  Random random;

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  }
  std::uint32_t pool(const UsageInput& input) {
    return static_cast<std::uint32_t>(below(std::ssize(input.capacity)));
  }
  std::pair<Instant, Instant> stretch() {
    const std::int64_t from = below(140) - 20;
    return {Instant(from), Instant(from + below(40))};
  }
  UsageInput input() {
    UsageInput result;
    result.begin = Instant(0);
    result.end = Instant(100);
    for (std::int64_t n = 1 + below(3); n > 0; --n) result.capacity.emplace_back(below(4001));
    result.groups = static_cast<std::uint32_t>(1 + below(5));
    for (std::int64_t n = below(30); n > 0; --n) {
      const auto [from, to] = stretch();
      result.holds.push_back({from, to, MilliGpu(1 + below(1500)), pool(result),
                              static_cast<std::uint32_t>(below(result.groups)),
                              static_cast<HeldKind>(below(kHeldKinds))});
    }
    for (std::int64_t n = below(6); n > 0; --n) {
      const auto [from, to] = stretch();
      result.outages.push_back({from, to, MilliGpu(1 + below(3000)), pool(result)});
    }
    for (std::int64_t n = below(6); n > 0; --n) {
      const auto [from, to] = stretch();
      result.waits.push_back({from, to, MilliGpu(1 + below(3000)), {}});
      if (below(2) == 0) result.waits.back().pool = pool(result);
    }
    return result;
  }
};

Int128 held_of_pool(const UsageLines& lines, std::size_t groups, std::size_t pool) {
  Int128 sum = 0;
  for (std::size_t group = 0; group < groups; ++group) sum += sum_of(lines.of(group, pool));
  return sum;
}

/// Instant by instant, the slow way.
PoolLines slow_lines(const UsageInput& input, std::uint32_t pool) {
  PoolLines lines;
  const auto at = [](const auto& stretch, std::int64_t t) {
    return stretch.begin.ns() <= t && t < stretch.end.ns() ? stretch.gpus.value() : 0;
  };
  for (std::int64_t t = input.begin.ns(); t < input.end.ns(); ++t) {
    std::int64_t held = 0;
    std::int64_t out = 0;
    for (const auto& hold : input.holds) held += hold.pool == pool ? at(hold, t) : 0;
    for (const auto& outage : input.outages) out += outage.pool == pool ? at(outage, t) : 0;
    const std::int64_t capacity = input.capacity[pool].value();
    lines.capacity += capacity;
    lines.beyond += std::max<std::int64_t>(0, held - capacity);
    const std::int64_t free = std::max<std::int64_t>(0, capacity - held);
    const std::int64_t idle = std::clamp<std::int64_t>(capacity - out - held, 0, free);
    lines.idle += idle;
    lines.drained += free - idle;
  }
  return lines;
}

TEST(UsageLinesProperty, LinesAddUpToCapacityTimesTime) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const UsageInput input = RandomUsage(seed).input();
    const UsageLines lines = measure_usage(input);
    for (std::size_t pool = 0; pool < input.capacity.size(); ++pool) {
      const PoolLines& line = lines.pools[pool];
      EXPECT_EQ(line.capacity, Int128{input.capacity[pool].value()} * 100);
      EXPECT_EQ(held_of_pool(lines, input.groups, pool) + line.idle + line.drained - line.beyond,
                line.capacity) << "seed " << seed;
      EXPECT_GE(line.idle, line.idle_wanted);
      EXPECT_GE(line.idle_wanted, 0);
      const PoolLines slow = slow_lines(input, static_cast<std::uint32_t>(pool));
      EXPECT_EQ(line.idle, slow.idle) << "seed " << seed;
      EXPECT_EQ(line.drained, slow.drained) << "seed " << seed;
      EXPECT_EQ(line.beyond, slow.beyond) << "seed " << seed;
    }
  }
}

TEST(UsageLinesProperty, APartitionIntoGroupsChangesNoOtherLine) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RandomUsage random(seed);
    UsageInput input = random.input();
    const UsageLines before = measure_usage(input);
    const std::size_t groups_before = input.groups;
    input.groups = 7;
    for (UsageHold& hold : input.holds) hold.group = static_cast<std::uint32_t>(random.below(7));
    std::reverse(input.holds.begin(), input.holds.end());
    const UsageLines after = measure_usage(input);
    for (std::size_t pool = 0; pool < input.capacity.size(); ++pool) {
      EXPECT_EQ(held_of_pool(before, groups_before, pool), held_of_pool(after, 7, pool));
      EXPECT_EQ(before.pools[pool].idle, after.pools[pool].idle);
      EXPECT_EQ(before.pools[pool].beyond, after.pools[pool].beyond);
    }
  }
}

}  // namespace
}  // namespace rota::audit
