#include "audit/metric_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace rota::audit {
namespace {

TEST(MetricText, SeriesWithAndWithoutLabels) {
  const auto lines = parse_metric_text(
      "# HELP a b\n\na 1\r\nb{x=\"1\",y=\"two\",} 2.5 1700000000000\n  c { } 1e3\n", "f");
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  ASSERT_EQ(lines->size(), 3u);
  EXPECT_EQ((*lines)[0].name, "a");
  EXPECT_EQ((*lines)[0].value, 1);
  EXPECT_EQ((*lines)[1].label({"z", "y"}), "two");
  EXPECT_EQ((*lines)[1].label({"z"}), "");
  EXPECT_EQ((*lines)[1].value, 2.5);
  EXPECT_EQ((*lines)[1].line, 4);
  EXPECT_EQ((*lines)[2].value, 1000);
}

TEST(MetricText, EscapesInValues) {
  const auto lines = parse_metric_text(R"(a{x="q\"b\\s\nl,}"} 1)", "f");
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  EXPECT_EQ((*lines)[0].label({"x"}), "q\"b\\s\nl,}");
}

TEST(MetricText, ValuesThatAreNoNumbers) {
  const auto lines = parse_metric_text("a NaN\nb +Inf\nc -Inf\nd 9223372036854775794\n", "f");
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  EXPECT_TRUE(std::isnan((*lines)[0].value));
  EXPECT_TRUE(std::isinf((*lines)[1].value));
  EXPECT_LT((*lines)[2].value, 0);
  EXPECT_GT((*lines)[3].value, 9e18);
}

TEST(MetricText, AnErrorHasItsPlace) {
  const auto where = [](const char* text) {
    const auto lines = parse_metric_text(text, "f");
    return lines ? std::string() : lines.error().where;
  };
  EXPECT_EQ(where("a 1\nb\n"), "f:2:2");
  EXPECT_EQ(where("a{x=\"1} 1"), "f:1:10");
  EXPECT_EQ(where("a{x=1} 1"), "f:1:4");
  EXPECT_EQ(where("a{=\"1\"} 1"), "f:1:3");
  EXPECT_EQ(where("a one"), "f:1:3");
  EXPECT_EQ(where("a 1 two"), "f:1:5");
  EXPECT_EQ(where("a 1 2 3"), "f:1:7");
  EXPECT_EQ(where("{} 1"), "f:1:1");
}

TEST(MetricText, GarbageIsAnErrorOrLinesAndNoMore) {
  const std::string letters = "a{}\"=\\, 1.e-+NI\n#\t";
  Random random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t n = random.below(30); n > 0; --n) {
      text += letters[random.below(letters.size())];
    }
    const auto lines = parse_metric_text(text, "f");
    if (!lines) {
      EXPECT_EQ(lines.error().where.find("f:"), 0u) << text;
      continue;
    }
    for (const MetricLine& line : *lines) EXPECT_FALSE(line.name.empty()) << text;
  }
}

TEST(MetricText, NothingIsNothing) {
  EXPECT_TRUE(parse_metric_text("", "f").value().empty());
  EXPECT_TRUE(parse_metric_text("\n\n# x", "f").value().empty());
}

}  // namespace
}  // namespace rota::audit
