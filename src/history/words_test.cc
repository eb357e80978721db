#include "history/words.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "history/gpu_sets.h"

namespace rota::history {
namespace {

constexpr auto kS = TimeUnit::kSeconds;

TEST(HistoryWords, Instants) {
  EXPECT_EQ(parse_instant("1970-01-01T00:00:01Z", kS), Instant(1'000'000'000));
  EXPECT_EQ(parse_instant("1970-01-01 01:00:01.5+01:00", kS), Instant(1'500'000'000));
  EXPECT_EQ(parse_instant("1969-12-31T23:00:00-0100", kS), Instant(0));
  EXPECT_EQ(parse_instant("1500", TimeUnit::kMilliseconds), Instant(1'500'000'000));
  EXPECT_EQ(parse_instant("2024-02-29T00:00:00", kS), Instant() + Duration::days(19'782));
  for (const char* no_day : {"2026-02-29", "2100-02-29", "2026-04-31", "2026-11-31"}) {
    EXPECT_FALSE(parse_instant(std::string(no_day) + "T00:00:00Z", kS)) << no_day;
  }
  EXPECT_EQ(parse_instant("-2.25", kS), Instant(-2'250'000'000));
  EXPECT_EQ(parse_instant("7200000000000", TimeUnit::kNanoseconds), Instant(7'200'000'000'000));
  for (const char* bad : {"", "soon", "2026-13-01T00:00:00", "2026-01-01T00:00:00+25:00", "12x",
                          "1e9", "99999999999", "2026-01-01", "-", "9999999999999999999999"}) {
    EXPECT_FALSE(parse_instant(bad, kS)) << bad;
  }
}

TEST(HistoryWords, Lengths) {
  EXPECT_EQ(parse_length("1-02:03:04", kS), Duration::seconds(93784));
  EXPECT_EQ(parse_length("03:04.250", kS), Duration::milliseconds(184250));
  EXPECT_EQ(parse_length("90", TimeUnit::kMinutes), Duration::minutes(90));
  EXPECT_EQ(parse_length("1.5", TimeUnit::kHours), Duration::minutes(90));
  for (const char* bad : {"", "-5", "1:2:3:4", "a:b", "1-2", "99999999999", "1-:00:00"}) {
    EXPECT_FALSE(parse_length(bad, kS)) << bad;
  }
}

TEST(HistoryWords, AmountsAndHosts) {
  EXPECT_EQ(parse_amount_bytes("100M", 1), mebibytes(100));
  EXPECT_EQ(parse_amount_bytes("1.5GiB", 1), mebibytes(1536));
  EXPECT_EQ(parse_amount_bytes("64", 1 << 20), mebibytes(64));
  EXPECT_EQ(parse_amount_bytes("12B", 1 << 20), Bytes(12));
  EXPECT_FALSE(parse_amount_bytes("12X", 1));
  EXPECT_FALSE(parse_amount_bytes("999999999P", 1));
  EXPECT_EQ(parse_whole("8.0"), 8);
  EXPECT_FALSE(parse_whole("8.5"));
  EXPECT_EQ(parse_milli("0.1239"), 123);
  EXPECT_EQ(count_hosts(""), 0);
  EXPECT_EQ(count_hosts("a1"), 1);
  EXPECT_EQ(count_hosts("a[1-3,7],b2,c[01-10]"), 15);
  EXPECT_EQ(count_hosts("a[3-1"), 1);
}

RC_GTEST_PROP(HistoryWords, InstantsReadBack, ()) {
  const auto ns = *rc::gen::inRange<std::int64_t>(-2'000'000'000'000'000'000,
                                                  7'000'000'000'000'000'000);
  const auto again = parse_instant(instant_text(Instant(ns)), kS);
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->ns() == ns);
}

TEST(GpuSets, TypesWithPartitionsInTheirNames) {
  const auto parts = [](std::string_view type) {
    const DeviceType split = split_device_type(type);
    return std::string(split.model) + "|" + std::string(split.partition);
  };
  EXPECT_EQ(parts("a100"), "a100|");
  EXPECT_EQ(parts("a100_3g.20gb"), "a100|3g.20gb");
  EXPECT_EQ(parts("1g.10gb"), "|1g.10gb");
  EXPECT_EQ(parts("nvidia_h100-1c.3g.40gb"), "nvidia_h100|1c.3g.40gb");
  EXPECT_EQ(parts("1g.10gb+me"), "|1g.10gb+me");
  EXPECT_EQ(parts("A100-SXM4-80GB"), "A100-SXM4-80GB|");
}

TEST(GpuSets, EqualKindsAddUpAndTextsReadBack) {
  GpuSets sets;
  NameTable names;
  const auto id = parse_gpu_set("h100:1;h100:1;a100/3g.20gb:2;0.5;x/y/:3", sets, names);
  ASSERT_TRUE(id);
  const std::string text = gpu_set_text(sets, names, *id);
  EXPECT_EQ(text, "0.5;a100/3g.20gb:2;h100:2;x/y/:3");
  EXPECT_EQ(*parse_gpu_set(text, sets, names), *id);
  EXPECT_EQ(sets.whole(*id), MilliGpu(5500));
  EXPECT_EQ(sets.partitions_milli(*id), 2000);
  EXPECT_EQ(*parse_gpu_set("0", sets, names), kNoGpus);
  EXPECT_EQ(*parse_gpu_set("", sets, names), kGpusUnknown);
  EXPECT_FALSE(parse_gpu_set("h100:many", sets, names));
}

}  // namespace
}  // namespace rota::history
