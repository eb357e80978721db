#include "base/text.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace rota {
namespace {

std::int64_t ns_of(std::string_view text) {
  const auto parsed = parse_duration(text);
  return parsed ? parsed->ns() : -1;
}

TEST(ParseDuration, ReadsEveryUnit) {
  EXPECT_EQ(ns_of("0"), 0);
  EXPECT_EQ(ns_of("90s"), 90'000'000'000);
  EXPECT_EQ(ns_of("20m"), Duration::minutes(20).ns());
  EXPECT_EQ(ns_of("4h"), Duration::hours(4).ns());
  EXPECT_EQ(ns_of("2d"), Duration::days(2).ns());
  EXPECT_EQ(ns_of("1h30m"), Duration::minutes(90).ns());
  EXPECT_EQ(ns_of("250ms"), 250'000'000);
  EXPECT_EQ(ns_of("1.5s"), 1'500'000'000);
  EXPECT_EQ(ns_of("-13h"), Duration::hours(-13).ns());
  EXPECT_EQ(ns_of("-1h30m"), Duration::minutes(-90).ns());
}

TEST(ParseDuration, RefusesWhatIsNotOne) {
  for (const char* text : {"", "-", "5", "h", "5x", "1m2h", "1s1s", "1.5h", "1.s", ".5s", "5 s",
                           "1.0000000001s", "999999999999999999s", "106752d", "+5s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  EXPECT_EQ(parse_duration("5").error().message,
            "'5' is not a duration: expected a number with a unit of d, h, m, s, ms, largest "
            "first, like 90s, 20m or 1h30m");
}

TEST(FormatDuration, WritesTheShortestForm) {
  EXPECT_EQ(format_duration(Duration{}), "0s");
  EXPECT_EQ(format_duration(Duration::seconds(90)), "1m30s");
  EXPECT_EQ(format_duration(Duration::seconds(630)), "10m30s");
  EXPECT_EQ(format_duration(Duration::hours(-13)), "-13h");
  EXPECT_EQ(format_duration(Duration::milliseconds(1500)), "1.5s");
  EXPECT_EQ(format_duration(Duration::days(1) + Duration::seconds(1)), "1d1s");
  EXPECT_EQ(format_duration(Duration(1)), "0.000000001s");
  EXPECT_EQ(format_duration(Duration(std::numeric_limits<std::int64_t>::min())),
            "-106751d23h47m16.854775808s");
}

RC_GTEST_PROP(FormatDuration, ParsesBack, ()) {
  const auto ns = *rc::gen::arbitrary<std::int64_t>();
  RC_PRE(ns != std::numeric_limits<std::int64_t>::min());
  const auto back = parse_duration(format_duration(Duration(ns)));
  RC_ASSERT(back.ok());
  RC_ASSERT(back->ns() == ns);
}

TEST(Bytes, ReadsAndWritesUnits) {
  EXPECT_EQ(parse_bytes("40GiB")->value(), gibibytes(40).value());
  EXPECT_EQ(parse_bytes("512MiB")->value(), mebibytes(512).value());
  EXPECT_EQ(parse_bytes("12KiB")->value(), 12 * 1024);
  EXPECT_EQ(parse_bytes("7B")->value(), 7);
  EXPECT_EQ(format_bytes(gibibytes(24)), "24GiB");
  EXPECT_EQ(format_bytes(mebibytes(2424)), "2424MiB");
  EXPECT_EQ(format_bytes(Bytes(7)), "7B");
  EXPECT_EQ(format_bytes(Bytes(0)), "0B");
  EXPECT_EQ(format_bytes(Bytes(-1024)), "-1KiB");
  for (const char* text : {"", "40", "40GB", "GiB", "1.5GiB", "-1GiB", "99999999TiB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(Gpus, AreMilliGpus) {
  EXPECT_EQ(parse_gpus("2")->value(), 2000);
  EXPECT_EQ(parse_gpus("0.5")->value(), 500);
  EXPECT_EQ(parse_gpus("0.125")->value(), 125);
  for (const char* text : {"", "-1", "0.1234", ".5", "1.", "a", "1,5"}) {
    EXPECT_FALSE(parse_gpus(text)) << text;
  }
  EXPECT_EQ(format_gpus(MilliGpu(2000)), "2");
  EXPECT_EQ(format_gpus(MilliGpu(500)), "0.5");
  EXPECT_EQ(format_gpus(MilliGpu(125)), "0.125");
  EXPECT_EQ(format_gpus(MilliGpu(1005)), "1.005");
  EXPECT_EQ(format_gpus(MilliGpu(-1500)), "-1.5");
  EXPECT_EQ(format_gpus(MilliGpu(-500)), "-0.5");
}

TEST(Numbers, AreWholeOrOfFixedPlaces) {
  EXPECT_EQ(*parse_int("-17"), -17);
  EXPECT_FALSE(parse_int("1.0"));
  EXPECT_FALSE(parse_int("9223372036854775808"));
  EXPECT_EQ(*parse_fixed("2.5", 6), 2'500'000);
  EXPECT_EQ(*parse_fixed("-0.25", 2), -25);
  EXPECT_FALSE(parse_fixed("0.125", 2));
  EXPECT_FALSE(parse_fixed("9223372036854775807", 1));
  EXPECT_EQ(parse_fixed("x", 2).error().message,
            "'x' is not a number with at most 2 digits after the point");
}

TEST(NearestWord, FindsLikelyTypos) {
  const std::vector<std::string> words{"queue", "user", "usage", "priority", "policy"};
  EXPECT_EQ(nearest_word("qeuue", words), "queue");
  EXPECT_EQ(nearest_word("usr", words), "user");
  EXPECT_EQ(nearest_word("priorty", words), "priority");
  EXPECT_EQ(nearest_word("zebra", words), "");
  EXPECT_EQ(nearest_word("", words), "");
  const std::vector<std::string> letters{"x"};
  EXPECT_EQ(nearest_word("y", letters), "");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a//b", '/'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", '/'), (std::vector<std::string_view>{""}));
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Control, IsFoundInAllItsForms) {
  EXPECT_EQ(without_control("a\x1b[1mb\tc\x7f"), "a [1mb c ");
  EXPECT_EQ(without_control("\u009b31mred"), " 31mred");
  EXPECT_EQ(without_control("fdp.\u202etxt\u202c, \u2066x\u2069"), "fdp. txt ,  x ");
  EXPECT_EQ(without_control("a\u2028b\u2029c\u0085d"), "a b c d");
  EXPECT_EQ(without_control(std::string("a\0b", 3)), "a b");
  for (const char* plain : {"", "Grün 东 é", "a\u200db", "\u00a0", "\xff", "x\xc3"}) {
    EXPECT_FALSE(has_control(plain)) << plain;
    EXPECT_EQ(without_control(plain), plain);
  }
  EXPECT_TRUE(has_control("\x9b")) << "a byte of Latin-1";
}

TEST(ExpandNames, ListsRangesAndMembers) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(*expand_names("a"), Names{"a"});
  EXPECT_EQ(*expand_names("a,b"), (Names{"a", "b"}));
  EXPECT_EQ(*expand_names("n[1-3]"), (Names{"n1", "n2", "n3"}));
  EXPECT_EQ(*expand_names("gpu[08-10]"), (Names{"gpu08", "gpu09", "gpu10"}));
  EXPECT_EQ(*expand_names("A.[1-2],A.7"), (Names{"A.1", "A.2", "A.7"}));
  EXPECT_EQ(*expand_names("r[1-2]n[0,5]x"), (Names{"r1n0x", "r1n5x", "r2n0x", "r2n5x"}));
  EXPECT_EQ(*expand_names("[0-1]"), (Names{"0", "1"}));
}

TEST(ExpandNames, RefusesMalformedOnes) {
  for (const char* text : {"", ",", "a,", ",a", "n[1-3", "n1-3]", "n[]", "n[3-1]", "n[a-b]",
                           "n[1-]", "n[0-1000000]", "n[1-1000][1-1001]", "n[[1-2]]",
                           "a[0-999999],b", "n[1-2-3]"}) {
    EXPECT_FALSE(expand_names(text)) << text;
  }
  EXPECT_EQ(expand_names("a,").error().message, "'a,' has an empty name in its list");
}

}  // namespace
}  // namespace rota
