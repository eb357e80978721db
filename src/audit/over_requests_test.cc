#include "audit/over_requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "audit/findings.h"
#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

constexpr std::uint32_t kGib = 1024;

TEST(OverRequests, GpusThatBusyTimeWouldNotHaveFilled) {
  const Work work = work_of({
      {.run = 3600, .gpus = 8, .user = 1, .busy_permille = 200},  // 1.6: two would do, six over
      {.run = 3600, .gpus = 4, .user = 2, .busy_permille = 500},  // two: half, so two over
      {.run = 3600, .gpus = 4, .user = 2, .busy_permille = 510},  // three: no excess
      {.run = 3600, .gpus = 2, .user = 1, .busy_permille = 0},    // one at least
      {.run = 3600, .gpus = 8},                                   // not measured
      {.run = 599, .gpus = 8, .busy_permille = 0},                // too short to say
      {.run = 3600, .gpus = 8, .end = End::kFailed, .busy_permille = 0},
      {.run = 3600, .gpus = 1, .busy_permille = 0}});
  const GpuUse use = measure_over_requests(work, seconds(0, 3600)).gpus;
  EXPECT_EQ(use.runs, 5);
  EXPECT_EQ(use.measured, 4);
  EXPECT_EQ(use.over, 3);
  EXPECT_EQ(use.held, gpu_seconds(18 * 3600));
  EXPECT_EQ(use.over_held, gpu_seconds(14 * 3600));
  EXPECT_EQ(use.excess, gpu_seconds((6 + 2 + 1) * 3600));
  EXPECT_EQ(use.user, "ann");
  EXPECT_EQ(use.user_excess, gpu_seconds(7 * 3600));
}

TEST(OverRequests, MemoryAskedAgainstUsed) {
  Work work = work_of({{.run = 100}, {.run = 50}, {.run = 100}, {.run = 100, .gpus = 16},
                       {.run = 100, .end = End::kOutOfMemory}, {.run = 100}, {.run = 100}});
  work.memory = {{0, 100 * kGib, 40 * kGib, kMemoryNotTold},
                 {1, 100 * kGib, 5 * kGib, kMemoryNotTold},
                 {2, 100 * kGib, 110 * kGib, kMemoryNotTold},
                 {3, 100 * kGib, 10 * kGib, kMemoryNotTold, true},
                 {4, 100 * kGib, 10 * kGib, kMemoryNotTold},
                 {5, kMemoryNotTold, 10 * kGib, kMemoryNotTold}};
  const MemoryUse use = measure_over_requests(work, seconds(0, 1000)).memory;
  EXPECT_EQ(use.runs, 6);
  EXPECT_EQ(use.told, 3);
  EXPECT_EQ(use.several_nodes, 1);
  EXPECT_EQ(use.used_p50, 400);
  EXPECT_EQ(use.below_half, 2);
  EXPECT_EQ(use.below_tenth, 1);
  EXPECT_EQ(use.asked, Int128{100 * kGib} * kSecond * 250);
  EXPECT_EQ(use.excess, Int128{60 * kGib} * kSecond * 100 + Int128{95 * kGib} * kSecond * 50);
}

TEST(OverRequests, AQuarterOfAGpuWouldHaveDone) {
  Work work = work_of({{.run = 3600, .busy_permille = 240}, {.run = 3600, .busy_permille = 250},
                       {.run = 3600, .busy_permille = 10}, {.run = 3600},
                       {.run = 3600, .gpus = 2, .busy_permille = 10}});
  work.memory = {{0, kMemoryNotTold, kMemoryNotTold, 10 * kGib},
                 {1, kMemoryNotTold, kMemoryNotTold, 2 * kGib},
                 {2, kMemoryNotTold, kMemoryNotTold, 10 * kGib + 1},
                 {3, kMemoryNotTold, kMemoryNotTold, 1 * kGib},
                 {4, kMemoryNotTold, kMemoryNotTold, 1 * kGib}};
  const GpuMemoryUse use = measure_over_requests(work, seconds(0, 3600)).gpu_memory;
  EXPECT_EQ(use.told, 5);
  EXPECT_EQ(use.used_p50, 2 * kGib);
  EXPECT_EQ(use.used_max, 10 * kGib + 1);
  EXPECT_EQ(use.small, 1);
  EXPECT_EQ(use.small_held, gpu_seconds(3600));
}

const Finding* found(const std::vector<Finding>& findings, std::string_view id) {
  const auto at = std::find_if(findings.begin(), findings.end(),
                               [&](const Finding& finding) { return finding.id == id; });
  return at == findings.end() ? nullptr : &*at;
}

bool says(const std::vector<std::string>& texts, std::string_view part) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
    return text.find(part) != std::string::npos;
  });
}

TEST(OverRequests, AreFindingsWithFiguresAndGains) {
  Work work = work_of({{.run = 3600, .gpus = 8, .user = 1, .busy_permille = 100},
                       {.run = 3600, .gpus = 1, .busy_permille = 100}});
  work.memory = {{0, 800 * kGib, 80 * kGib, 20 * kGib}, {1, 100 * kGib, 10 * kGib, 4 * kGib}};
  const auto audit = audit_work(work, seconds(0, 3600), {.capacity = 10'000, .shares = {}});
  ASSERT_TRUE(audit);
  const auto findings = findings_of(*audit);
  const Finding* gpus = found(findings, "gpus_over_requested");
  ASSERT_NE(gpus, nullptr);
  EXPECT_DOUBLE_EQ(*gpus->gain, 7);
  EXPECT_EQ(gpus->figure,
            "1 of 1 measured run of two and more GPUs would have filled at most half of them: 7 "
            "GPU-hours, 78 % of what was held; most by ann");
  const Finding* memory = found(findings, "memory_over_requested");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->figure,
            "half of the runs that ended well used at most 10 % of the memory they asked for; "
            "100 % of them less than half; 810 GiB-hours, 90 % of what was asked for, were not "
            "used");
  EXPECT_FALSE(memory->gain);
  const Finding* part = found(findings, "part_of_a_gpu");
  ASSERT_NE(part, nullptr);
  EXPECT_DOUBLE_EQ(*part->gain, 0.75);
  EXPECT_FALSE(says(unknowns_of(*audit), "over-requested GPUs"));
  EXPECT_FALSE(says(unknowns_of(*audit), "over-requested memory"));
}

TEST(OverRequests, SayWhatIsNotTold) {
  const Work work = work_of({{.run = 3600, .gpus = 8}});
  const auto audit = audit_work(work, seconds(0, 3600), {});
  ASSERT_TRUE(audit);
  EXPECT_EQ(found(findings_of(*audit), "gpus_over_requested"), nullptr);
  const auto unknowns = unknowns_of(*audit);
  EXPECT_TRUE(says(unknowns, "over-requested GPUs: not told"));
  EXPECT_TRUE(says(unknowns, "over-requested memory: not told"));
  EXPECT_TRUE(says(unknowns, "use of GPU memory: not told"));
}

}  // namespace
}  // namespace rota::audit
