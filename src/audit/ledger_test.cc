#include "audit/ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "audit/test_work.h"
#include "audit/timeline.h"

namespace rota::audit {
namespace {

using namespace testing;

TEST(Ledger, EachEndHasItsLine) {
  const Work work = work_of({{.run = 10, .end = End::kCompleted},
                             {.run = 20, .gpus = 2, .end = End::kFailed, .owner = 1},
                             {.run = 5, .end = End::kTimeLimit},
                             {.run = 6, .end = End::kCancelled},
                             {.run = 7, .end = End::kPreempted},
                             {.run = 8, .end = End::kNodeFailed},
                             {.run = 9, .end = End::kUnknown}});
  const Ledgers ledgers = measure_ledger(work, seconds(0, 100));
  EXPECT_EQ(ledgers.all.line(Line::kCompleted).gpu_time, gpu_seconds(10));
  EXPECT_EQ(ledgers.all.line(Line::kFailed).gpu_time, gpu_seconds(40));
  EXPECT_EQ(ledgers.all.line(Line::kUnknown).gpu_time, gpu_seconds(9));
  EXPECT_EQ(ledgers.all.held, gpu_seconds(85));
  EXPECT_EQ(ledgers.all.lost(), gpu_seconds(40 + 5 + 6 + 7 + 8));
  EXPECT_EQ(ledgers.all.measured, 0);
  EXPECT_EQ(ledgers.by_team[1].held, gpu_seconds(40));
}

TEST(Ledger, UtilisationPartsGoodWorkOnly) {
  const Work work = work_of({{.run = 10, .gpus = 2, .busy_permille = 250},
                             {.run = 10, .end = End::kFailed, .busy_permille = 900}});
  const Ledgers ledgers = measure_ledger(work, seconds(0, 100));
  EXPECT_EQ(ledgers.all.line(Line::kBusy).gpu_time, gpu_seconds(5));
  EXPECT_EQ(ledgers.all.line(Line::kIdle).gpu_time, gpu_seconds(15));
  EXPECT_EQ(ledgers.all.line(Line::kFailed).gpu_time, gpu_seconds(10));
  EXPECT_EQ(ledgers.all.measured, gpu_seconds(30));
  EXPECT_EQ(ledgers.busy, gpu_seconds(14));
}

TEST(Ledger, WhatIsNotToldIsCounted) {
  const Work work = work_of({{.run = 10, .gpus = -1}, {.run = -1}, {.run = 10, .gpus = 0},
                             {.submit = 5, .start = -1, .run = 10}});
  const Ledgers ledgers = measure_ledger(work, seconds(0, 100));
  EXPECT_EQ(ledgers.gpus_unknown, 1);
  EXPECT_EQ(ledgers.length_unknown, 1);
  EXPECT_EQ(ledgers.without_gpus, 1);
  EXPECT_EQ(ledgers.all.held, gpu_seconds(10));
}

TEST(Ledger, WordsAreDifferent) {
  for (int i = 0; i < kLines; ++i) {
    for (int k = 0; k < i; ++k) {
      EXPECT_NE(line_word(static_cast<Line>(i)), line_word(static_cast<Line>(k)));
    }
  }
}

Work random_work() {
  Work work = work_of({});
  const int jobs = *rc::gen::inRange(0, 30);
  for (int i = 0; i < jobs; ++i) {
    Told one{.submit = *rc::gen::inRange(-1, 100), .start = *rc::gen::inRange(-1, 200),
             .run = *rc::gen::inRange(-1, 100), .gpus = *rc::gen::inRange(-1, 9)};
    one.end = static_cast<End>(*rc::gen::inRange(0, kEnds));
    one.owner = static_cast<std::uint32_t>(*rc::gen::inRange(0, 4));
    one.busy_permille = *rc::gen::inRange(-1, 1001);
    if (!work.jobs.empty() && *rc::gen::inRange(0, 4) == 0) add_run(work, one);
    else add(work, one);
  }
  return work;
}

GpuTime sum_of(const Ledger& ledger) {
  GpuTime sum = 0;
  for (const LedgerLine& line : ledger.lines) sum += line.gpu_time;
  return sum;
}

TEST(LedgerProperty, EveryGpuSecondIsInExactlyOneLine) {
  ASSERT_TRUE(rc::check([] {
    const Work work = random_work();
    const int begin = *rc::gen::inRange(0, 150);
    const Window window = seconds(begin, begin + *rc::gen::inRange(1, 200));
    const Ledgers ledgers = measure_ledger(work, window);
    RC_ASSERT(sum_of(ledgers.all) == ledgers.all.held);
    GpuTime teams = 0;
    for (const Ledger& team : ledgers.by_team) {
      RC_ASSERT(sum_of(team) == team.held);
      teams += team.held;
    }
    RC_ASSERT(teams == ledgers.all.held);
    // Counted once more by hand, and by the sweep over time where runs have a place.
    GpuTime held = 0;
    GpuTime unplaced = 0;
    for (const WorkRun& run : work.runs) {
      const GpuTime time = gpu_time_inside(work, run, window);
      held += time;
      if (!run.is_placed()) unplaced += time;
    }
    RC_ASSERT(held == ledgers.all.held);
    const Timeline timeline = measure_timeline(work, window, {.capacity = 1'000'000, .parts = {}});
    RC_ASSERT(timeline.held + unplaced == held);
    RC_ASSERT(timeline.held + timeline.free == GpuTime{1'000'000} * window.length());
    RC_ASSERT(timeline.idle_while_wanted <= timeline.free);
    GpuTime hours = 0;
    for (const GpuTime hour : timeline.held_by_hour) hours += hour;
    RC_ASSERT(hours == timeline.held);
  }));
}

TEST(LedgerProperty, TwoWindowsAddUpToTheirUnion) {
  ASSERT_TRUE(rc::check([] {
    const Work work = random_work();
    const int middle = *rc::gen::inRange(1, 300);
    const auto of = [&](int begin, int end) {
      const Window window = seconds(begin, end);
      return measure_timeline(work, window, {.capacity = 8000, .parts = {1000, 2000, 3000, 500}});
    };
    const Timeline whole = of(0, 301);
    const Timeline left = of(0, middle);
    const Timeline right = of(middle, 301);
    RC_ASSERT(left.held + right.held == whole.held);
    RC_ASSERT(left.wanted + right.wanted == whole.wanted);
    RC_ASSERT(left.free + right.free == whole.free);
    RC_ASSERT(left.idle_while_wanted + right.idle_while_wanted == whole.idle_while_wanted);
    for (std::size_t i = 0; i < whole.teams.size(); ++i) {
      RC_ASSERT(left.teams[i].owed + right.teams[i].owed == whole.teams[i].owed);
      RC_ASSERT(left.teams[i].delivered + right.teams[i].delivered == whole.teams[i].delivered);
      RC_ASSERT(whole.teams[i].delivered <= whole.teams[i].owed);
    }
  }));
}

}  // namespace
}  // namespace rota::audit
