#include "cli/audit_source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "history/read.h"

namespace rota::cli {
namespace {

audit::Work read(const std::string& text) {
  const auto history = history::read_history_text(text, "jobs.csv", {});
  EXPECT_TRUE(history) << (history ? "" : history.error().message);
  return work_of(*history);
}

TEST(AuditSource, TimesNamesAndGpusOfARow) {
  const audit::Work work = read(
      "id,user,queue,class,submit,eligible,start,end,state,gpus,limit,nodes,utilization\n"
      "7,ann,vision,debug,100,110,160,200,COMPLETED,h100:2,1h,n[1-2],50\n");
  ASSERT_EQ(work.jobs.size(), 1U);
  ASSERT_EQ(work.runs.size(), 1U);
  const audit::WorkRun& run = work.runs[0];
  EXPECT_EQ(run.waiting_since, 110'000'000'000);
  EXPECT_EQ(run.started, 160'000'000'000);
  EXPECT_EQ(run.run, 40'000'000'000);
  EXPECT_EQ(run.held_milli, 2000);
  EXPECT_EQ(run.busy_permille, 500);
  EXPECT_EQ(run.end, audit::End::kCompleted);
  ASSERT_EQ(work.node_sets[run.nodes].size(), 2U);
  EXPECT_EQ(work.nodes[work.node_sets[run.nodes][1]], "n2");
  EXPECT_EQ(work.owners[work.jobs[0].owner], "vision");
  EXPECT_EQ(work.users[work.jobs[0].user], "ann");
  EXPECT_EQ(work.classes[work.jobs[0].job_class], "debug");
  EXPECT_EQ(work.jobs[0].time_limit, 3'600'000'000'000);
}

TEST(AuditSource, ListsOfNodesInEveryForm) {
  const audit::Work work = read(
      "id,submit,start,end,state,gpus,nodes\n1,1,1,9,COMPLETED,2,n1+n2\n"
      "2,2,2,9,COMPLETED,2,n[1-2]\n3,3,3,9,COMPLETED,1,n2\n");
  EXPECT_EQ(work.nodes, (std::vector<std::string>{"", "n1", "n2"}));
  EXPECT_EQ(work.node_sets[work.runs[0].nodes], (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(work.node_sets[work.runs[1].nodes], (std::vector<std::uint32_t>{1, 2}));
}

TEST(AuditSource, WhatIsNotToldStaysSo) {
  const audit::Work work = read("submit,run,gpus\n100,5,1\n");
  const audit::WorkRun& run = work.runs[0];
  EXPECT_EQ(run.started, audit::kNotTold);
  EXPECT_EQ(run.run, 5'000'000'000);
  EXPECT_EQ(run.busy_permille, -1);
  EXPECT_EQ(run.nodes, 0U);
  EXPECT_EQ(work.jobs[0].owner, audit::kNoName);
  EXPECT_EQ(work.jobs[0].time_limit, audit::kNotTold);
}

TEST(AuditSource, WhatStillRunsIsTakenUntilTheEnd) {
  const audit::Work work = read(
      "id,submit,start,end,state,gpus\n1,0,10,,RUNNING,1\n2,0,20,90,COMPLETED,1\n"
      "3,50,,,PENDING,4\n4,0,,30,CANCELLED,4\n");
  EXPECT_EQ(work.runs[0].run, 80'000'000'000);
  for (const audit::WorkRun& run : work.runs) {
    if (run.end == audit::End::kPending) {
      EXPECT_EQ(work.wanted_of(run), 4000);
    }
    if (run.end == audit::End::kCancelled) {
      EXPECT_EQ(run.left, 30'000'000'000);
    }
  }
}

TEST(AuditSource, MemoryOfStepsAndTheHistoryGivenBack) {
  constexpr std::string_view kText =
      "JobID|State|Submit|Start|End|Elapsed|AllocTRES|ReqTRES|NNodes|MaxRSS|TRESUsageInAve|"
      "TRESUsageInMax\n"
      "1|COMPLETED|1970-01-02T00:00:00|1970-01-02T00:00:00|1970-01-02T01:00:00|01:00:00|"
      "gres/gpu=2,mem=64G|gres/gpu=2,mem=64G|1|||\n"
      "1.batch|COMPLETED|1970-01-02T00:00:00|1970-01-02T00:00:00|1970-01-02T01:00:00|01:00:00|||1|"
      "8G|gres/gpuutil=40|gres/gpumem=12G\n"
      "2|COMPLETED|1970-01-02T00:00:00|1970-01-02T00:00:00|1970-01-02T01:00:00|01:00:00|"
      "gres/gpu=2,mem=64G|gres/gpu=2,mem=64G|2|||\n"
      "2.0|COMPLETED|1970-01-02T00:00:00|1970-01-02T00:00:00|1970-01-02T01:00:00|01:00:00|||2|"
      "8G||\n"
      "3|COMPLETED|1970-01-02T00:00:00|1970-01-02T00:00:00|1970-01-02T01:00:00|01:00:00|"
      "gres/gpu=2|gres/gpu=2|1|||\n";
  auto history = history::read_history_text(std::string(kText), "a.psv", {});
  ASSERT_TRUE(history) << history.error().message;
  const audit::Work kept = work_of(*history);
  const audit::Work work = work_of(std::move(*history));
  ASSERT_EQ(work.memory.size(), 2U);
  EXPECT_EQ(work.memory[0].run, 0U);
  EXPECT_EQ(work.memory[0].asked_mib, 64U * 1024);
  EXPECT_EQ(work.memory[0].used_mib, 8U * 1024);
  EXPECT_EQ(work.memory[0].gpu_mib, 12U * 1024);
  EXPECT_FALSE(work.memory[0].several_nodes);
  EXPECT_EQ(work.memory[1].run, 1U);
  EXPECT_EQ(work.memory[1].gpu_mib, audit::kMemoryNotTold);
  EXPECT_TRUE(work.memory[1].several_nodes);
  EXPECT_EQ(work.runs[0].busy_permille, 400);
  // The same jobs and runs, given back or not.
  ASSERT_EQ(work.jobs.size(), kept.jobs.size());
  for (std::size_t i = 0; i < kept.jobs.size(); ++i) {
    EXPECT_EQ(work.jobs[i].first_run, kept.jobs[i].first_run);
    EXPECT_EQ(work.jobs[i].run_count, kept.jobs[i].run_count);
    EXPECT_EQ(work.jobs[i].run_count, 1U);
  }
}

TEST(AuditSource, HashedNamesAreStableAndOfTheirKind) {
  EXPECT_EQ(hashed_name("team", "vision"), hashed_name("team", "vision"));
  EXPECT_NE(hashed_name("team", "vision"), hashed_name("user", "vision"));
  EXPECT_EQ(hashed_name("team", "vision").size(), 5U + 8U);
  audit::Work work = read("id,user,queue,start,end,gpus,nodes\n1,ann,vision,0,9,1,n1\n");
  hash_names(work);
  EXPECT_EQ(work.owners[1], hashed_name("team", "vision"));
  EXPECT_EQ(work.users[1], hashed_name("user", "ann"));
  EXPECT_EQ(work.nodes[1], hashed_name("node", "n1"));
  EXPECT_EQ(work.owners[0], "");
}

}  // namespace
}  // namespace rota::cli
