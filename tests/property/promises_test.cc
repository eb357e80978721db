// Promises of the engine on random clusters, owners, policies and happenings.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/property/check_property.h"
#include "tests/property/play.h"

namespace rota::property {
namespace {

TEST(Promises, HoldAtEveryInstant) {
  check_property("every promise holds", {.cases = 400, .steps = 60}, [](const Script& script) {
    return play(script, {}).broken;
  });
  std::cout << moves_played() << " moves\n";
  EXPECT_GT(moves_played(), 0U);
}

TEST(Promises, HoldInLongRuns) {
  check_property("every promise holds in long runs", {.cases = 30, .steps = 400},
                 [](const Script& script) { return play(script, {}).broken; });
}

/// The same happenings to nodes of four GPUs and plain jobs past their contract, where nobody may
/// be taken and small jobs may move.
Script where_jobs_move(Script script) {
  constexpr std::uint32_t kReclaimOff = 3;
  constexpr std::uint32_t kDrainOne = 3 * 2 * 3 * 2 * 2 * 2 * 2;
  script.stage[0] = 0;
  script.stage[4] = kReclaimOff;
  script.stage[6] = kDrainOne;
  script.stage[7] = 3;
  for (std::size_t node = 8; node < 12; ++node) script.stage[node] = 1;
  for (Step& step : script.steps) {
    // A claimant starts on what it holds, whatever became of devices and limits since.
    if (step.kind >= 85 && step.kind < 92) step.kind = 51;
    if (step.kind >= 51) continue;        // no submission
    step.n[1] = step.n[1] % 7 * 10;       // whole GPUs
    step.n[2] = 0;                        // one task
    step.n[3] = step.n[3] % 6 + 6;        // a contract of nothing
  }
  return script;
}

TEST(Promises, HoldWhileJobsMove) {
  const std::uint64_t before = moves_played();
  check_property("every promise holds while jobs move", {.cases = 200, .steps = 150},
                 [](const Script& script) { return play(where_jobs_move(script), {}).broken; });
  check_property("saving and loading while jobs move", {.cases = 40, .steps = 80},
                 [](const Script& script) {
                   const Played first = play(where_jobs_move(script), {.watched = false});
                   const Played second = play(where_jobs_move(script),
                                              {.save_and_load = true, .watched = false});
                   return difference(first, second);
                 });
  std::cout << moves_played() - before << " moves\n";
  EXPECT_GT(moves_played() - before, 20U);
}

// Shortest scripts of faults that were found; each broke a promise once.
TEST(Promises, HoldWhereTheyOnceBroke) {
  const Script over_limit{{0, 0, 0, 0, 0, 0, 0, 1, 0, 255},
                          {{0, {0, 450169, 0, 0, 994369, 209792}}, {88, {0, 912, 0, 0, 0, 0}}}};
  const Played played = play(over_limit, {});
  EXPECT_EQ(played.broken, "") << testing::PrintToString(played.log);

  Script late_task{{}, {{0, {11268, 70580, 804758, 0, 0, 64}}, {0, {0, 0, 0, 0, 0, 36864}}}};
  late_task.stage[18] = 5321;
  const Played shrunk = play(late_task, {});
  EXPECT_EQ(shrunk.broken, "") << testing::PrintToString(shrunk.log);

  Script lowered{{}, {{0, {0, 0, 62, 0, 0, 0}}, {76, {0, 563231, 0, 0, 0, 0}},
                      {0, {6136, 383680, 0, 0, 0, 0}}}};
  lowered.stage[7] = 1;
  lowered.stage[15] = 244911;
  const Played claimed = play(lowered, {});
  EXPECT_EQ(claimed.broken, "") << testing::PrintToString(claimed.log);

  Script lowered_again{{}, {{0, {0, 1649, 0, 0, 0, 0}}, {0, {0, 792876, 0, 0, 0, 128}},
                            {88, {0, 14352, 0, 0, 0, 0}}}};
  lowered_again.stage[8] = 7155;
  const Played told = play(lowered_again, {});
  EXPECT_EQ(told.broken, "") << testing::PrintToString(told.log);

  // Claimed task by task, then as a whole by somebody else.
  Script in_parts{{}, {{0, {0, 4, 0, 0, 0, 696320}}, {45, {16596, 0, 0, 0, 0, 464064}}}};
  in_parts.stage[5] = 3;
  in_parts.stage[12] = 54998;
  in_parts.stage[14] = 645;
  in_parts.stage[20] = 657167;
  const Played taken = play(where_jobs_move(in_parts), {});
  EXPECT_EQ(taken.broken, "") << testing::PrintToString(taken.log);
}

/// Plays the script plainly and with the twist; the twist must not matter.
std::string compare(const Script& script, const Twist& twist, bool digests_too) {
  const Twist plain{.watched = false};
  const Played first = play(script, plain);
  const Played second = play(script, twist);
  if (!second.broken.empty()) return second.broken;
  const std::string parted = difference(first, second);
  if (!parted.empty()) return parted;
  if (digests_too && first.digest != second.digest) return "the last states differ";
  return {};
}

/// Puts neighbouring refusals into one order.
void sort_refusals(Played& played) {
  const auto refused = [](const std::string& line) {
    return line.find(" cancelled infeasible") != std::string::npos;
  };
  for (auto from = played.log.begin(); from != played.log.end();) {
    const auto to = std::find_if_not(from, played.log.end(), refused);
    std::sort(from, to);
    from = to == played.log.end() ? to : std::next(to);
  }
}

TEST(Twists, TheSameScriptTwiceIsTheSame) {
  check_property("twice the same", {.cases = 60, .steps = 60}, [](const Script& script) {
    return compare(script, {.watched = false}, true);
  });
}

TEST(Twists, LookingChangesNothing) {
  check_property("looking", {.cases = 60, .steps = 40}, [](const Script& script) {
    return compare(script, {.look = true, .watched = false}, true);
  });
}

TEST(Twists, SavingAndLoadingChangesNothing) {
  check_property("saving and loading", {.cases = 150, .steps = 60}, [](const Script& script) {
    return compare(script, {.save_and_load = true, .watched = false}, true);
  });
}

TEST(Twists, NamesDoNotMatter) {
  check_property("renaming", {.cases = 100, .steps = 60}, [](const Script& script) {
    return compare(script, {.renamed = true, .watched = false}, false);
  });
}

TEST(Twists, TheOrderOfSubmissionsAtOneInstantDoesNotMatter) {
  check_property("any order", {.cases = 100, .steps = 60}, [](const Script& script) {
    Played first = play(script, {.watched = false});
    Played second = play(script, {.any_order = true, .watched = false});
    // Submissions that are refused are told in their own order.
    sort_refusals(first);
    sort_refusals(second);
    return difference(first, second);
  });
}

}  // namespace
}  // namespace rota::property
