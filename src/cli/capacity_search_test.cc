#include "cli/capacity_search.h"

#include <gtest/gtest.h>

#include "cli/usage.h"

namespace rota::cli {
namespace {

SearchResult searched(const SearchBounds& bounds, Better better,
                      const std::function<bool(std::int64_t)>& meets) {
  int calls = 0;
  auto result = search_nodes(bounds, better, [&](std::int64_t nodes) -> Result<bool> {
    EXPECT_GE(nodes, 1);
    EXPECT_LE(nodes, bounds.most);
    ++calls;
    return meets(nodes);
  });
  EXPECT_TRUE(result);
  EXPECT_EQ(calls, std::ssize(result->tried)) << "each number is asked for once";
  return std::move(*result);
}

TEST(CapacitySearch, FindsTheLeastNumberFromAnySide) {
  for (const std::int64_t least : {1, 2, 3, 7, 40, 41, 79, 100}) {
    for (const std::int64_t today : {1, 5, 40, 100}) {
      const auto result = searched({today, 100}, Better::kMore,
                                   [&](std::int64_t nodes) { return nodes >= least; });
      EXPECT_EQ(result.found, least) << today;
      EXPECT_TRUE(result.monotone);
      EXPECT_LE(result.tried.size(), 20U);
    }
  }
}

TEST(CapacitySearch, FindsTheLargestNumberForOccupancy) {
  for (const std::int64_t largest : {1, 2, 39, 40, 41, 64}) {
    const auto result = searched({40, 64}, Better::kFewer,
                                 [&](std::int64_t nodes) { return nodes <= largest; });
    EXPECT_EQ(result.found, largest);
    EXPECT_TRUE(result.monotone);
  }
}

TEST(CapacitySearch, SaysWhenNothingMeetsIt) {
  const auto result = searched({4, 64}, Better::kMore, [](std::int64_t) { return false; });
  EXPECT_FALSE(result.found);
  EXPECT_EQ(result.tried.rbegin()->first, 64) << "the most was tried";
}

TEST(CapacitySearch, NoticesThatMoreIsWorse) {
  // 18 meets it although 19 does not; a bisection between 16 and 32 ends at 20.
  const auto result = searched({16, 64}, Better::kMore, [](std::int64_t nodes) {
    return nodes == 18 || nodes >= 20;
  });
  EXPECT_FALSE(result.monotone);
  EXPECT_EQ(result.found, 18);
}

TEST(CapacitySearch, PassesErrorsOn) {
  const auto result = search_nodes({4, 8}, Better::kMore, [](std::int64_t) -> Result<bool> {
    return usage_error("no");
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "no");
}

}  // namespace
}  // namespace rota::cli
