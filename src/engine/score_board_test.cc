#include "engine/score_board.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/random.h"

namespace rota::engine {
namespace {

TEST(ScoreBoard, GivesTheFirstOfTheBestThatMayBeTaken) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const auto nodes = static_cast<std::size_t>(random.between(1, 400));
    ScoreBoard board;
    board.reset(nodes);
    std::vector<std::uint64_t> keys(nodes, ScoreBoard::kNever);
    std::vector<bool> may(nodes, true);
    for (int step = 0; step < 400; ++step) {
      const std::size_t node = random.below(nodes);
      keys[node] = random.chance(1, 6) ? ScoreBoard::kNever : random.below(20);
      board.set(static_cast<std::int32_t>(node), keys[node]);
      if (random.chance(1, 2)) may[random.below(nodes)] = random.chance(1, 2);
      std::int32_t best = -1;
      for (std::size_t n = 0; n < nodes; ++n) {
        if (!may[n] || keys[n] == ScoreBoard::kNever) continue;
        if (best < 0 || keys[n] < keys[static_cast<std::size_t>(best)]) {
          best = static_cast<std::int32_t>(n);
        }
      }
      ASSERT_EQ(best, board.best([&](std::int32_t n) { return may[static_cast<std::size_t>(n)]; }))
          << seed << " " << step;
    }
  }
}

TEST(ScoreBoard, OfNoNodesHasNone) {
  ScoreBoard board;
  board.reset(0);
  EXPECT_EQ(board.best([](std::int32_t) { return true; }), -1);
}

}  // namespace
}  // namespace rota::engine
