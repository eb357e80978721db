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
  std::cout << events_played() << " events, " << moves_played() << " moves\n";
  EXPECT_GT(moves_played(), 0U);
}

TEST(Promises, HoldInLongRuns) {
  check_property("every promise holds in long runs", {.cases = 30, .steps = 400},
                 [](const Script& script) { return play(script, {}).broken; });
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
