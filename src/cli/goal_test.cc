#include "cli/goal.h"

#include <gtest/gtest.h>

namespace rota::cli {
namespace {

sim::Outcome outcome_of_ten() {
  sim::Outcome out;
  out.jobs = out.started = 10;
  out.wait = {.mean = Duration::seconds(50), .p50 = Duration::seconds(40),
              .p90 = Duration::seconds(90), .p99 = Duration::seconds(120),
              .max = Duration::seconds(120)};
  out.wide = {.name = "wide", .jobs = 2, .started = 1, .wait = {.p90 = Duration::seconds(5)},
              .wait_of_all = {.p50 = Duration::seconds(5)}};
  out.shorts = {.name = "debug", .jobs = 3, .started = 3, .wait = {.p90 = Duration::seconds(30)}};
  out.teams = {{.name = "vision", .jobs = 10, .started = 10,
                .wait = {.mean = Duration::seconds(7)}, .owed = 100, .delivered = 90}};
  out.classes = {{.name = "train", .jobs = 4, .started = 4}};
  out.owed = 200;
  out.delivered = 190;
  out.held = 70;
  out.capacity = 100;
  return out;
}

GoalStanding standing(const std::string& text) {
  const auto goal = parse_goal(text);
  EXPECT_TRUE(goal) << (goal ? "" : goal.error().message);
  if (!goal) return {};
  const auto out = standing_of(*goal, outcome_of_ten());
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *out : GoalStanding{};
}

std::string goal_refusal(const std::string& text) {
  const auto goal = parse_goal(text);
  if (!goal) return goal.error().message;
  const auto out = standing_of(*goal, outcome_of_ten());
  return out ? "" : out.error().message;
}

TEST(Goal, Waits) {
  EXPECT_TRUE(standing("p90 wait of debug < 1m").met);
  EXPECT_EQ(standing("p90 wait of debug < 1m").words, "30s");
  EXPECT_FALSE(standing("p90 wait of debug < 30s").met) << "below, not at";
  EXPECT_FALSE(standing("p90 wait < 1m").met);
  EXPECT_TRUE(standing("mean wait of all<1m").met) << "no blanks are needed";
  EXPECT_TRUE(standing("mean wait of vision < 10s").met);
  EXPECT_TRUE(standing("max wait of all < 2m1s").met);
  EXPECT_TRUE(standing("p50 wait of train < 1s").met);
}

TEST(Goal, WhoNeverStartsWaitsForEver) {
  EXPECT_FALSE(standing("max wait of wide < 1h").met);
  EXPECT_EQ(standing("p90 wait of wide < 1h").words, "never");
  EXPECT_TRUE(standing("p50 wait of wide < 1h").met) << "one of two started";
}

TEST(Goal, Parts) {
  EXPECT_FALSE(standing("delivered of all > 95%").met) << "it is 95 %";
  EXPECT_TRUE(standing("delivered > 94.9%").met);
  EXPECT_FALSE(standing("delivered of vision > 95%").met);
  EXPECT_EQ(standing("delivered of vision > 95%").words, "90%");
  EXPECT_TRUE(standing("occupancy > 65%").met);
}

TEST(Goal, NoPartIsMetWhereJobsNeverStartOrNothingIsToBeMeasured) {
  sim::Outcome outcome = outcome_of_ten();
  const auto standing_in = [&](const char* text) {
    return *standing_of(*parse_goal(text), outcome);
  };
  outcome.started = 8;
  outcome.wait_of_all = {.p50 = Duration::seconds(45)};
  EXPECT_FALSE(standing_in("delivered > 94%").met);
  EXPECT_EQ(standing_in("delivered > 94%").words, "95%");
  EXPECT_EQ(standing_in("delivered > 94%").never, 2);
  EXPECT_FALSE(standing_in("occupancy > 65%").met);
  EXPECT_EQ(standing_in("p50 wait < 1m").words, "45s") << "of all ten";
  EXPECT_EQ(standing_in("p90 wait < 10m").words, "never");
  outcome = outcome_of_ten();
  outcome.owed = outcome.delivered = 0;
  EXPECT_FALSE(standing_in("delivered > 10%").met) << "nobody is owed anything";
  EXPECT_EQ(standing_in("delivered > 10%").words, "-");
}

TEST(Goal, RefusalsSayWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"fast", "too few words"},
      {"p95 wait < 1m", "did you mean 'p90'"},
      {"p90 of all < 1m", "and not 'wait'"},
      {"p90 wait of all 1m", "no < or >"},
      {"p90 wait of all > 1m", "upper bound"},
      {"delivered of all < 95%", "lower bound"},
      {"p90 wait of all < soon", "no duration"},
      {"delivered of all > 0.9", "no percentage"},
      {"delivered of all > 101%", "no percentage"},
      {"occupancy of vision > 5%", "of the cluster"},
      {"p90 wait of visoin < 1m", "did you mean 'vision'"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(goal_refusal(text).find(expected), std::string::npos)
        << text << ": " << goal_refusal(text);
  }
}

}  // namespace
}  // namespace rota::cli
