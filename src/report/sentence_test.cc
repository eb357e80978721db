#include "report/sentence.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace rota::report {
namespace {

Wording wording() {
  return {[](JobId id) { return "job " + std::to_string(id.value()); },
          [](Instant at) { return format_duration(at - Instant{}); }};
}

Reason reason_of(ReasonCode code, std::int64_t need, std::int64_t free) {
  Reason reason;
  reason.code = code;
  reason.resource = ReasonResource::kGpu;
  reason.need = need;
  reason.free = free;
  reason.missing = need - free;
  return reason;
}

std::string sentence(const Reason& reason) { return reason_sentence(reason, wording()); }

TEST(Sentence, SaysWhatIsShort) {
  EXPECT_EQ(sentence(reason_of(ReasonCode::kInsufficientFree, 4000, 2000)),
            "needs 4 GPUs, but only 2 are free (short of 2)");
  EXPECT_EQ(sentence(reason_of(ReasonCode::kInsufficientFree, 1000, 0)),
            "needs 1 GPU, but none is free (short of 1)");
  EXPECT_EQ(sentence(reason_of(ReasonCode::kInsufficientFree, 2000, 1000)),
            "needs 2 GPUs, but only 1 is free (short of 1)");
  EXPECT_EQ(sentence(reason_of(ReasonCode::kInsufficientFree, 500, 200)),
            "needs 0.5 GPU, but only 0.2 are free (short of 0.3)");
}

TEST(Sentence, NamesTheResource) {
  auto reason = reason_of(ReasonCode::kInsufficientFree, 17, 16);
  reason.resource = ReasonResource::kCpu;
  EXPECT_EQ(sentence(reason), "needs 17 CPUs, but only 16 CPUs are free (short of 1 CPU)");
  reason = reason_of(ReasonCode::kInsufficientFree, gibibytes(24).value(), gibibytes(20).value());
  reason.resource = ReasonResource::kGpuMemory;
  EXPECT_EQ(sentence(reason),
            "needs 24GiB of GPU memory, but only 20GiB of GPU memory are free (short of 4GiB of "
            "GPU memory)");
}

TEST(Sentence, SaysWhereItDoesNotFit) {
  auto reason = reason_of(ReasonCode::kFragmented, 4000, 12000);
  reason.within = ReasonScope::kNode;
  reason.best = 3000;
  reason.missing = 1000;
  EXPECT_EQ(sentence(reason),
            "needs 4 GPUs on one node, but the most free in one place is 3 (12 are free in all)");
}

TEST(Sentence, SaysWhatCanNeverBe) {
  EXPECT_EQ(sentence(reason_of(ReasonCode::kInfeasible, 16000, 8000)),
            "can never start here: it needs 16 GPUs, and the most this cluster could ever offer is "
            "8");
  EXPECT_EQ(sentence(reason_of(ReasonCode::kInfeasible, 1000, 0)),
            "can never start here: it needs 1 GPU, and this cluster has none that it could use");
}

TEST(Sentence, NamesWhoIsInTheWay) {
  Reason reason;
  reason.by_job = JobId(12);
  reason.code = ReasonCode::kReservedFor;
  reason.until = Instant(Duration::hours(1).ns());
  EXPECT_EQ(sentence(reason), "it fits, but would delay the start reserved for job 12 at 1h");
  reason.code = ReasonCode::kNoTimeLimit;
  EXPECT_EQ(sentence(reason),
            "it has no time limit; with one short enough it could start before job 12");
  reason.code = ReasonCode::kBehind;
  EXPECT_EQ(sentence(reason), "it fits, but nothing may pass job 12");
  reason.code = ReasonCode::kDependency;
  EXPECT_EQ(sentence(reason), "it waits for job 12");
}

TEST(Sentence, NamesLimits) {
  auto reason = reason_of(ReasonCode::kQueueLimit, 1000, 0);
  reason.by = "vision";
  reason.limit = 8000;
  EXPECT_EQ(sentence(reason), "the limit of queue vision of 8 GPUs is used up");
  reason = reason_of(ReasonCode::kUserLimit, 5000, 4000);
  reason.by = "eve";
  reason.limit = 6000;
  EXPECT_EQ(sentence(reason), "the limit of user eve of 6 GPUs leaves 4, and it needs 5");
  reason = reason_of(ReasonCode::kArrayLimit, 1, 0);
  reason.limit = 16;
  EXPECT_EQ(sentence(reason), "its array may run 16 members at once, and they are running");
}

TEST(Sentence, KeepsTheDetail) {
  Reason reason;
  reason.code = ReasonCode::kForeignUse;
  reason.detail = "pid 4711 of eve on n1:2";
  EXPECT_EQ(sentence(reason),
            "part of what it lacks is used by a process from outside: pid 4711 of eve on n1:2");
}

TEST(Sentence, ThereIsOneForEveryCode) {
  for (std::size_t i = 0; i < names_of(ReasonCode{}).size(); ++i) {
    Reason reason;
    reason.code = static_cast<ReasonCode>(i);
    EXPECT_FALSE(reason_sentence(reason, wording()).empty()) << names_of(ReasonCode{})[i];
    EXPECT_FALSE(reason_short(reason, wording()).empty()) << names_of(ReasonCode{})[i];
  }
}

TEST(Explain, TheSummaryOfAWaitingJobIsItsFirstReason) {
  Verdict verdict;
  verdict.reasons = {reason_of(ReasonCode::kInsufficientFree, 4000, 2000),
                     reason_of(ReasonCode::kHeld, 0, 0)};
  EXPECT_EQ(summary_sentence(verdict, {}, wording()),
            "Needs 4 GPUs, but only 2 are free (short of 2).");
}

TEST(Explain, BeginsWithTheReasonsAndEndsWithWhatHelps) {
  Verdict verdict;
  verdict.reasons = {reason_of(ReasonCode::kInsufficientFree, 4000, 2000)};
  verdict.ahead = 2;
  verdict.estimate = Instant(Duration::minutes(90).ns());
  EXPECT_EQ(explain_paragraph(verdict, wording()),
            "Needs 4 GPUs, but only 2 are free (short of 2). 2 waiting jobs come before it. "
            "Expected to start at 1h30m. It starts if 2 GPUs more free up.");
}

TEST(Explain, TellsAnEvictionAndItsTieRule) {
  Verdict verdict;
  verdict.state = JobState::kPending;
  verdict.reasons = {reason_of(ReasonCode::kInsufficientFree, 4000, 0)};
  verdict.evicted_by = JobId(3);
  verdict.tie_rule = "last in the file";
  EXPECT_EQ(explain_sentences(verdict, wording()).back(),
            "It was last stopped to make room for job 3; the tie among the candidates was broken "
            "by: last in the file.");
}

TEST(Explain, TellsWhyAJobEnded) {
  const auto text = [](JobState state, std::string cause) {
    Verdict verdict;
    verdict.state = state;
    verdict.end_cause = std::move(cause);
    return explain_paragraph(verdict, wording());
  };
  EXPECT_EQ(text(JobState::kDone, "exited"), "It ended by itself, without an error.");
  EXPECT_EQ(text(JobState::kTimeout, "time_limit"), "It reached its time limit.");
  EXPECT_EQ(text(JobState::kCancelled, "session_idle"),
            "The session was idle for too long and was ended to free its GPUs.");
  EXPECT_EQ(text(JobState::kCancelled, "dependency_never"),
            "It was cancelled: a job it depended on did not end as needed.");
  EXPECT_EQ(text(JobState::kFailed, "exited"), "It failed: its processes ended with an error.");
}

TEST(Explain, TheSummaryOfAnEndedJobSaysHow) {
  Verdict verdict;
  verdict.state = JobState::kFailed;
  verdict.end_cause = "exited";
  JobFacts facts{.exit_code = 127, .signal = 0};
  EXPECT_EQ(summary_sentence(verdict, facts, wording()), "It failed: exit code 127.");
  facts.detail = "cannot run 'x': No such file or directory";
  EXPECT_EQ(summary_sentence(verdict, facts, wording()),
            "It failed: exit code 127 (cannot run 'x': No such file or directory).");
  EXPECT_EQ(summary_sentence(verdict, {.exit_code = 0, .signal = 9}, wording()),
            "It failed: signal 9.");
  verdict.state = JobState::kTimeout;
  EXPECT_EQ(summary_sentence(verdict, {.time_limit = Duration::minutes(20)}, wording()),
            "It reached its time limit of 20m.");
}

TEST(Explain, TheSummaryOfARunningJobSaysWhereAndUntilWhen) {
  Verdict verdict;
  verdict.state = JobState::kRunning;
  const auto at = [](int minutes) { return Instant(Duration::minutes(minutes).ns()); };
  EXPECT_EQ(summary_sentence(verdict,
                             {.where = "n1:0-3",
                              .started = at(1),
                              .contract_ends = at(10),
                              .limit_ends = at(61),
                              .time_limit = Duration::hours(1)},
                             wording()),
            "It is running on n1:0-3 since 1m; protected until 10m; its time limit of 1h ends it "
            "at 1h1m.");
  EXPECT_EQ(summary_sentence(verdict, {.where = "n1:0", .is_always_protected = true}, wording()),
            "It is running on n1:0; it is never preempted.");
}

TEST(Explain, NeverIsSilent) {
  EXPECT_EQ(explain_paragraph(Verdict{}, wording()), "It waits for the next scheduling cycle.");
  Verdict running;
  running.state = JobState::kRunning;
  EXPECT_EQ(explain_paragraph(running, wording()), "It is running.");
}

TEST(Help, CountsWhatHasToFreeUp) {
  const auto help = [](Reason reason) {
    Verdict verdict;
    verdict.state = JobState::kPending;
    verdict.reasons = {std::move(reason)};
    const auto sentences = help_sentences(verdict, wording());
    return sentences.empty() ? std::string() : sentences.front();
  };
  EXPECT_EQ(help(reason_of(ReasonCode::kInsufficientFree, 1000, 0)),
            "It starts if 1 GPU more frees up.");
  EXPECT_EQ(help(reason_of(ReasonCode::kInsufficientFree, 500, 0)),
            "It starts if 0.5 GPU more frees up.");
  EXPECT_EQ(help(reason_of(ReasonCode::kInsufficientFree, 4000, 1000)),
            "It starts if 3 GPUs more free up.");
  Reason memory = reason_of(ReasonCode::kInsufficientFree, gibibytes(8).value(), 0);
  memory.resource = ReasonResource::kMemory;
  EXPECT_EQ(help(memory), "It starts if 8GiB of memory more frees up.");
  Reason cpus = reason_of(ReasonCode::kFragmented, 5, 4);
  cpus.resource = ReasonResource::kCpu;
  cpus.within = ReasonScope::kNode;
  EXPECT_EQ(help(cpus), "It starts if 1 CPU more frees up on one node.");
}

TEST(Help, SaysNothingOfRoomWhereALimitBinds) {
  Verdict verdict;
  verdict.state = JobState::kPending;
  Reason limit;
  limit.code = ReasonCode::kArrayLimit;
  limit.limit = 1;
  verdict.reasons = {limit, reason_of(ReasonCode::kInsufficientFree, 1000, 0)};
  EXPECT_TRUE(help_sentences(verdict, wording()).empty());
  EXPECT_EQ(sentence(limit), "its array may run 1 member at once, and it is running");
}

}  // namespace
}  // namespace rota::report
