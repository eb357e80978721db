#include "engine/free_index.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace rota::engine {
namespace {

TEST(NodeSet, GivesItsMembersInOrderAlsoFarApart) {
  NodeSet set;
  EXPECT_TRUE(set.empty());
  for (const std::int32_t node : {70'000, 0, 63, 64, 4'096, 262'144}) set.insert(node);
  std::vector<std::int32_t> seen;
  for (auto n = set.next(0); n != NodeSet::kEnd; n = set.next(n + 1)) seen.push_back(n);
  EXPECT_EQ(seen, (std::vector<std::int32_t>{0, 63, 64, 4'096, 70'000, 262'144}));
  set.erase(64);
  EXPECT_FALSE(set.contains(64));
  EXPECT_FALSE(set.contains(1'000'000));
  EXPECT_EQ(set.next(64), 4'096);
}

TEST(NodeSet, EqualsASetThatHasGrownFurther) {
  NodeSet small;
  small.insert(3);
  NodeSet grown = small;
  grown.insert(9'999);
  EXPECT_FALSE(small == grown);
  grown.erase(9'999);
  EXPECT_TRUE(small == grown);
  EXPECT_TRUE(grown == small);
}

TEST(NodeSet, FindsWhatTwoHaveInCommon) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    std::set<std::int32_t> in_both;
    NodeSet a;
    NodeSet b;
    const std::int64_t span = random.between(1, 300'000);
    for (int i = 0; i < 400; ++i) {
      const auto node = static_cast<std::int32_t>(random.between(0, span));
      if (random.chance(1, 2)) a.insert(node);
      if (random.chance(1, 2)) b.insert(node);
      if (random.chance(1, 4)) a.erase(static_cast<std::int32_t>(random.between(0, span)));
      if (a.contains(node) && b.contains(node)) in_both.insert(node);
    }
    std::erase_if(in_both, [&](std::int32_t n) { return !a.contains(n); });
    std::vector<std::int32_t> common;
    for (auto n = a.next_common(b, 0); n != NodeSet::kEnd; n = a.next_common(b, n + 1)) {
      common.push_back(n);
    }
    EXPECT_EQ(common, std::vector<std::int32_t>(in_both.begin(), in_both.end()));
  }
}

TEST(KeySet, IsAnOrderedSetOfAnySize) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    KeySet keys;
    std::set<std::uint64_t> model;
    const std::uint64_t span = random.chance(1, 2) ? 300 : 1'000'000;
    bool growing = true;
    for (int i = 0; i < 3'000; ++i) {
      if (model.size() > 700) growing = false;
      if (model.empty()) growing = true;
      const std::uint64_t key = random.below(span);
      if (random.chance(growing ? 3 : 1, 4)) {
        keys.insert(key);
        model.insert(key);
      } else {
        const auto some = model.lower_bound(key);
        const std::uint64_t gone = some == model.end() ? key : *some;
        keys.erase(gone);
        model.erase(gone);
      }
      const std::uint64_t at = random.below(span);
      const auto up = model.lower_bound(at);
      ASSERT_EQ(keys.at_least(at), up == model.end() ? KeySet::kEnd : *up);
      ASSERT_EQ(keys.below(at), up == model.begin() ? KeySet::kEnd : *std::prev(up));
      ASSERT_EQ(keys.empty(), model.empty());
    }
    KeySet again;
    for (const std::uint64_t key : model) again.insert(key);
    EXPECT_EQ(keys, again);
    again.insert(span + 1);
    EXPECT_FALSE(keys == again);
  }
}

NodeCap node_with(std::int32_t whole, std::int32_t part) {
  NodeCap cap;
  cap.devices.resize(static_cast<std::size_t>(whole) + 1);
  cap.devices.back().mode = DeviceMode::kFraction;
  cap.devices.back().milli_free = part;
  cap.free.whole = whole;
  cap.free.milli = std::int64_t{1000} * whole + part;
  return cap;
}

// Thousands of nodes, whole and mixed ones, against a sorted list.
TEST(FreeIndex, IsWalkedInOrderBothWays) {
  Random random(7);
  FreeIndex index;
  NodeSet among;
  std::vector<std::pair<std::int64_t, std::int32_t>> expected;
  const std::int32_t whole_least = 2;
  const std::int64_t milli_least = 2'500;
  for (std::int32_t n = 0; n < 5'000; ++n) {
    const auto whole = static_cast<std::int32_t>(random.between(0, 8));
    const NodeCap cap = node_with(whole, random.chance(1, 2) ? 0 : 100 * static_cast<std::int32_t>(
                                                                             random.below(10)));
    index.admit(cap);
    index.add(n, cap);
    if (random.chance(1, 3)) continue;
    among.insert(n);
    if (whole < whole_least || cap.free.milli < milli_least) continue;
    expected.emplace_back(cap.free.milli, n);
  }
  const auto walked = [&](FreeOrder order) {
    FreeWalk walk(index, among, {whole_least, milli_least}, order);
    std::vector<std::int32_t> out;
    for (auto n = walk.next(); n != NodeSet::kEnd; n = walk.next()) out.push_back(n);
    return out;
  };
  const auto sorted = [&] {
    std::vector<std::int32_t> out;
    std::sort(expected.begin(), expected.end());
    for (const auto& [milli, node] : expected) out.push_back(node);
    return out;
  };
  EXPECT_EQ(walked(FreeOrder::kLeastFirst), sorted());
  for (auto& [milli, node] : expected) milli = -milli;
  EXPECT_EQ(walked(FreeOrder::kMostFirst), sorted());
}

TEST(FreeIndex, IsAsNewWhenEveryNodeIsRemoved) {
  Random random(8);
  FreeIndex index;
  std::vector<NodeCap> caps;
  for (std::int32_t n = 0; n < 1'000; ++n) {
    caps.push_back(node_with(static_cast<std::int32_t>(random.between(0, 3)),
                             static_cast<std::int32_t>(random.between(0, 999))));
    caps.back().rack = n / 32;
    index.admit(caps.back());
    index.add(n, caps.back());
  }
  EXPECT_GT(index.milli_in_rack(3), 0);
  for (std::int32_t n = 0; n < 1'000; ++n) index.remove(n, caps[static_cast<std::size_t>(n)]);
  EXPECT_EQ(index, FreeIndex());
}

}  // namespace
}  // namespace rota::engine
