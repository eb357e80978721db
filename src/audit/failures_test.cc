#include "audit/failures.h"

#include <gtest/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

TEST(Failures, CountsEndsCostAndPeople) {
  const Work work = work_of({{.run = 100, .user = 1},
                             {.run = 60, .gpus = 2, .end = End::kFailed, .user = 1},
                             {.run = 700, .end = End::kOutOfMemory, .user = 2},
                             {.run = 50, .end = End::kCancelled, .user = 2},
                             {.run = 30, .gpus = 4, .end = End::kPreempted}});
  const Failures failures = measure_failures(work, seconds(0, 1000));
  EXPECT_EQ(failures.ended, 3);
  EXPECT_EQ(failures.failed, 2);
  EXPECT_EQ(failures.early, 1);
  EXPECT_EQ(failures.lost, gpu_seconds(120 + 700));
  EXPECT_EQ(failures.lost_late, gpu_seconds(700));
  EXPECT_EQ(failures.stopped, 1);
  EXPECT_EQ(failures.stopped_lost, gpu_seconds(120));
  EXPECT_EQ(failures.restarts, 0);
  ASSERT_EQ(failures.by_user.size(), 2U);
  EXPECT_EQ(failures.by_user[0].name, "bob");
  EXPECT_EQ(failures.by_user[0].lost, gpu_seconds(700));
  EXPECT_EQ(failures.by_user[1].runs, 2);
}

TEST(Failures, ARestartCostsTheRunBeforeIt) {
  Work work = work_of({{.run = 100, .gpus = 2, .end = End::kNodeFailed}});
  add_run(work, {.start = 100, .run = 50, .gpus = 2, .end = End::kPreempted});
  add_run(work, {.start = 200, .run = 300, .gpus = 2});
  add(work, {.start = 0, .run = 10});
  const Failures failures = measure_failures(work, seconds(0, 1000));
  EXPECT_EQ(failures.jobs_restarted, 1);
  EXPECT_EQ(failures.restarts, 2);
  EXPECT_EQ(failures.restart_cost, gpu_seconds(200 + 100));
}

TEST(Failures, OutsideTheWindowNothingCounts) {
  const Work work = work_of({{.start = 0, .run = 10, .end = End::kFailed}});
  EXPECT_EQ(measure_failures(work, seconds(50, 60)).failed, 0);
}

}  // namespace
}  // namespace rota::audit
