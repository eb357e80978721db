#include "cli/report/lines.h"

#include <gtest/gtest.h>

#include <string>

#include "audit/apportion.h"
#include "base/random.h"
#include "cli/report/cluster.h"
#include "cli/report/collect.h"
#include "history/read.h"
#include "history/words.h"

namespace rota::cli::reports {
namespace {

constexpr Int128 kGpuHour = Int128{1000} * Duration::hours(1).ns();

/// A history in Rota's own form with all kinds of attempts: parts of GPUs, models not told, ends
/// not told, attempts that never started.
std::string random_history(Random& random) {
  const auto one_of = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random.below(words.size())]);
  };
  const auto time = [](std::uint64_t second) {
    return history::instant_text(Instant() + Duration::days(20'000) +
                                 Duration::milliseconds(static_cast<std::int64_t>(second)));
  };
  std::string text = "job,attempt,user,queue,class,submitted,started,ended,outcome,gpus_held\n";
  const std::uint64_t jobs = 1 + random.below(40);
  for (std::uint64_t job = 1; job <= jobs; ++job) {
    std::uint64_t at = random.below(1'000'000);
    const std::string owner = one_of({"ann", "bob", ""}) + "," + one_of({"q1", "q2", "q3", ""}) +
                              "," + one_of({"debug", "batch", ""});
    const std::uint64_t attempts = 1 + random.below(3);
    for (std::uint64_t attempt = 1; attempt <= attempts; ++attempt) {
      text += std::to_string(job) + "," + std::to_string(attempt) + "," + owner + "," + time(at);
      at += random.below(100'000);
      text += "," + (random.below(9) == 0 ? std::string() : time(at));
      at += random.below(300'000);
      text += "," + time(at) + "," +
              one_of({"completed", "failed", "preempted", "cancelled", "unknown", "node_failed"}) +
              "," + one_of({"1", "h100:8", "a100:0.5", "a100/3g.40gb:1", "h100:2;a100:1", "x:3"}) +
              "\n";
    }
  }
  return text;
}

ReportInput input_of(const history::JobHistory& history, By by, Capacity capacity) {
  ReportInput input;
  const auto period = period_of_history(history);
  input.usage.begin = period->begin;
  input.usage.end = period->end;
  if (capacity == Capacity::kTold) {
    NodeSpec node{.name = "n"};
    node.devices.assign(6, {.model = "h100"});
    NodeSpec other{.name = "m"};
    other.devices.assign(4, {.model = "a100"});
    other.state = NodeState::kDrained;
    add_cluster({node, other}, input);
  }
  collect(history, by, capacity, input);
  for (ReportPool& pool : input.pools) {
    pool.price = MicroMoney(1'370'000 + 100'003 * static_cast<std::int64_t>(pool.model.size()));
  }
  return input;
}

Int128 capacity_time(const audit::UsageLines& usage) {
  Int128 sum = 0;
  for (const audit::PoolLines& pool : usage.pools) sum += pool.capacity;
  return sum;
}

/// The last line is the sum of all others, by column.
void expect_sums(const ReportLines& report, Amounts ReportLine::*amounts) {
  Amounts sum;
  for (const ReportLine& line : report.lines) {
    if (line.kind == LineKind::kAll) continue;
    const Amounts& one = line.*amounts;
    Int128 held = 0;
    for (std::size_t kind = 0; kind < audit::kHeldKinds; ++kind) {
      sum.held[kind] += one.held[kind];
      held += one.held[kind];
    }
    if (line.kind == LineKind::kGroup) {
      EXPECT_TRUE(held == one.total) << line.name;
    }
    sum.total += one.total;
  }
  const Amounts& all = report.lines.back().*amounts;
  EXPECT_TRUE(sum.total == all.total);
  EXPECT_TRUE(sum.held == all.held);
}

TEST(ReportLinesProperty, AddUpExactlyForAnyPartitionOfAnyHistory) {
  Random random(3);
  for (int round = 0; round < 120; ++round) {
    const auto history =
        history::read_history_text(random_history(random), "r.csv", {.format = "rota"});
    ASSERT_TRUE(history.ok()) << history.error().message;
    for (const Capacity capacity : {Capacity::kTold, Capacity::kFromHistory}) {
      std::optional<Int128> idle;
      std::optional<Int128> cost;
      for (const By by : {By::kQueue, By::kUser, By::kClass, By::kModel, By::kJob}) {
        const ReportInput input = input_of(*history, by, capacity);
        if (input.pools.empty()) continue;  // nothing ran
        const audit::UsageLines usage = audit::measure_usage(input.usage);
        Int128 sum = 0;
        for (const audit::HeldTime& held : usage.held) sum += audit::sum_of(held);
        for (const audit::PoolLines& pool : usage.pools) {
          sum += pool.idle + pool.drained - pool.beyond;
        }
        EXPECT_TRUE(sum == capacity_time(usage)) << "round " << round;
        EXPECT_TRUE(capacity_time(usage) ==
                    Int128{input.capacity().value()} * input.period().length().ns());

        ReportLines report = hour_lines(input, usage, 3);
        ASSERT_TRUE(add_costs(input, usage, report).ok());
        const Energy power{.price = MicroMoney(271'828), .overhead_milli = 1234, .by_model = {},
                           .others = Energy::Draw{613'001, 71'113}};
        ASSERT_TRUE(add_energy(input, usage, power, report).ok());
        finish_lines(report);
        expect_sums(report, &ReportLine::energy);
        expect_sums(report, &ReportLine::watt_hours);
        expect_sums(report, &ReportLine::hours);
        expect_sums(report, &ReportLine::cost);
        EXPECT_TRUE(report.lines.back().hours.total ==
                    audit::rounded_to(capacity_time(usage), kGpuHour / 1000));
        // What nobody held and the whole bill do not depend on the partition.
        const Int128 idle_now = usage.pools[0].idle;
        EXPECT_TRUE(idle.value_or(idle_now) == idle_now);
        EXPECT_TRUE(cost.value_or(report.lines.back().cost.total) ==
                    report.lines.back().cost.total);
        idle = idle_now;
        cost = report.lines.back().cost.total;
      }
    }
  }
}

history::JobHistory history_of(const std::string& rows) {
  return history::read_history_text(
             "job,user,queue,submitted,started,ended,outcome,gpus_held,run_seconds\n" + rows,
             "h.csv", {.format = "rota"})
      .value();
}

const ReportLine& line_of(const ReportLines& report, LineKind kind, const std::string& name = {}) {
  for (const ReportLine& line : report.lines) {
    if (line.kind == kind && line.name == name) return line;
  }
  ADD_FAILURE() << "no line " << name;
  return report.lines.front();
}

TEST(ReportLines, AHistoryByHand) {
  const auto history = history_of(
      "1,ann,a,2026-03-02T10:00:00Z,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,completed,h100:2,\n"
      "2,bob,b,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,2026-03-02T12:00:00Z,failed,h100:0.5,\n"
      "3,bob,b,2026-03-02T10:00:00Z,,2026-03-02T11:30:00Z,cancelled,,\n"
      "4,ann,a,2026-03-02T10:00:00Z,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,preempted,"
      "a100/3g.40gb:1,\n");
  const ReportInput input = input_of(history, By::kQueue, Capacity::kTold);
  const audit::UsageLines usage = audit::measure_usage(input.usage);
  ReportLines report = hour_lines(input, usage, 3);
  finish_lines(report);
  const ReportLine& a = line_of(report, LineKind::kGroup, "a");
  EXPECT_EQ(static_cast<int>(a.hours.held[0]), 4000);
  EXPECT_EQ(static_cast<int>(a.hours.held[2]), 856);  // 428 thousandths for two hours
  const ReportLine& b = line_of(report, LineKind::kGroup, "b");
  EXPECT_EQ(static_cast<int>(b.hours.held[1]), 500);
  EXPECT_EQ(static_cast<int>(line_of(report, LineKind::kIdle).hours.total), 12'000 - 4'500);
  EXPECT_EQ(static_cast<int>(line_of(report, LineKind::kDrained).hours.total), 8'000 - 856);
  EXPECT_EQ(static_cast<int>(line_of(report, LineKind::kAll).hours.total), 20'000);
  EXPECT_EQ(report.lines.size(), 5u);  // none beyond the capacity
}

TEST(ReportLines, TimesThatAreNotTold) {
  const auto history = history_of(
      "1,ann,a,2026-03-02T10:00:00Z,,,completed,h100:1,3600\n"
      "2,ann,a,2026-03-02T10:00:00Z,2026-03-02T10:00:00Z,,running,h100:1,\n"
      "3,ann,a,2026-03-02T10:00:00Z,,,pending,,\n");
  const ReportInput input = input_of(history, By::kQueue, Capacity::kFromHistory);
  ASSERT_EQ(input.notes.size(), 3u);
  EXPECT_EQ(input.notes[0], "1 attempt told no start; counted from the submit");
  EXPECT_EQ(input.notes[1], "1 attempt ran when the history was taken; counted until then");
  EXPECT_EQ(input.notes[2].find("the capacity is not told"), 0u);
  EXPECT_EQ(input.period().length(), Duration::hours(1));
}

TEST(ReportLines, APoolWithoutAPriceIsAnError) {
  const auto history = history_of(
      "1,ann,a,2026-03-02T10:00:00Z,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,completed,h100:2,\n");
  ReportInput input = input_of(history, By::kQueue, Capacity::kFromHistory);
  input.pools[0].price.reset();
  const audit::UsageLines usage = audit::measure_usage(input.usage);
  ReportLines report = hour_lines(input, usage, 3);
  const Status status = add_costs(input, usage, report);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("--prices h100=PRICE"), std::string::npos);
}

TEST(ReportLines, EnergyByHand) {
  // Six h100 and four a100 (drained) for two hours; two h100 held for two hours, half of one for
  // one, and 428 thousandths of an a100 for two.
  const auto history = history_of(
      "1,ann,a,2026-03-02T10:00:00Z,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,completed,h100:2,\n"
      "2,bob,b,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,2026-03-02T12:00:00Z,failed,h100:0.5,\n");
  const ReportInput input = input_of(history, By::kQueue, Capacity::kTold);
  const audit::UsageLines usage = audit::measure_usage(input.usage);
  ReportLines report = hour_lines(input, usage, 3);
  ASSERT_TRUE(add_costs(input, usage, report).ok());
  const Energy energy{.price = MicroMoney(200'000), .overhead_milli = 1500,
                      .by_model = {{"h100", {700'000, 100'000}}, {"a100", {400'000, 50'000}}},
                      .others = {}};
  ASSERT_TRUE(add_energy(input, usage, energy, report).ok());
  finish_lines(report);
  // Held: 4 GPU-hours x 1.05 kW = 4.2 kWh at 0.20. Idle: 7.5 x 0.15 kW. Drained: 8 x 0.075 kW.
  const ReportLine& a = line_of(report, LineKind::kGroup, "a");
  EXPECT_EQ(static_cast<int>(a.watt_hours.total), 4200);
  EXPECT_EQ(static_cast<int>(a.energy.held[0]), 84);
  EXPECT_EQ(static_cast<int>(line_of(report, LineKind::kGroup, "b").watt_hours.held[1]), 525);
  EXPECT_EQ(static_cast<int>(line_of(report, LineKind::kIdle).watt_hours.total), 1125);
  EXPECT_EQ(static_cast<int>(line_of(report, LineKind::kDrained).watt_hours.total), 600);
  const ReportLine& all = line_of(report, LineKind::kAll);
  EXPECT_EQ(static_cast<int>(all.watt_hours.total), 4200 + 525 + 1125 + 600);
  EXPECT_EQ(static_cast<int>(all.energy.total), 129);  // 6.45 kWh at 0.20
  EXPECT_TRUE(all.cost_total() == all.cost.total + 129);
  EXPECT_EQ(energy_rate(energy, 1'050'000).value(), 210'000);
  const Energy unknown{.price = MicroMoney(1), .by_model = {{"h100", {1, 1}}}, .others = {}};
  const Status status = add_energy(input, usage, unknown, report);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("--watts a100=HELD/IDLE"), std::string::npos);
}

TEST(ReportLines, ABudgetIsSpentByThoseBelow) {
  const auto history = history_of(
      "1,ann,a,2026-03-02T10:00:00Z,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,completed,x:2,\n"
      "2,bob,b,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,2026-03-02T12:00:00Z,failed,x:1,\n"
      "3,bob,c,2026-03-02T10:00:00Z,2026-03-02T11:00:00Z,2026-03-02T12:00:00Z,failed,x:1,\n");
  ReportInput input = input_of(history, By::kQueue, Capacity::kFromHistory);
  input.pools[0].price = MicroMoney(1'000'000);
  const audit::UsageLines usage = audit::measure_usage(input.usage);
  ReportLines report = hour_lines(input, usage, 3);
  ASSERT_TRUE(add_costs(input, usage, report).ok());
  add_budgets({{"lab", 1000}, {"a", {400, "lab"}}, {"b", {100, "a"}}}, report);
  finish_lines(report);
  const auto spent = [&](const std::string& name) {
    return static_cast<int>(line_of(report, LineKind::kGroup, name).spent);
  };
  EXPECT_EQ(spent("b"), 100);
  EXPECT_EQ(spent("a"), 500);
  EXPECT_EQ(spent("lab"), 500);  // c is not below it
  EXPECT_FALSE(line_of(report, LineKind::kGroup, "c").budget);
  expect_sums(report, &ReportLine::cost);
}

TEST(ReportLines, ABudgetWithoutUseHasALine) {
  const auto history = history_of(
      "1,ann,a,2026-03-02T10:00:00Z,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,completed,h100:2,\n");
  const ReportInput input = input_of(history, By::kQueue, Capacity::kFromHistory);
  ReportLines report = hour_lines(input, audit::measure_usage(input.usage), 3);
  add_budgets({{"a", 100}, {"z", 200}}, report);
  finish_lines(report);
  EXPECT_EQ(line_of(report, LineKind::kGroup, "a").budget, 100);
  EXPECT_EQ(line_of(report, LineKind::kGroup, "z").budget, 200);
  EXPECT_EQ(report.lines.back().kind, LineKind::kAll);
}

}  // namespace
}  // namespace rota::cli::reports
