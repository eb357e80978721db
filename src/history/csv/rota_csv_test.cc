#include "history/csv/rota_csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "history/read.h"

namespace rota::history {
namespace {

std::string written(const JobHistory& history) {
  std::ostringstream out;
  write_history_csv(history, out);
  return out.str();
}

TEST(RotaCsv, ReadsBackToTheSameHistory) {
  const auto first = read_history({std::string(ROTA_SOURCE_DIR) +
                                   "/tests/data/slurm/sacct-duplicates.psv"}, {});
  ASSERT_TRUE(first);
  const std::string text = written(*first);
  const auto second = read_history_text(text, "r.csv", {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->notes().formats.front(), "rota");
  EXPECT_EQ(second->jobs().size(), first->jobs().size());
  EXPECT_EQ(second->attempts().size(), first->attempts().size());
  EXPECT_EQ(written(*second), text);
  EXPECT_EQ(second->notes().count_of(RowFate::kSkipped), 0);
}

/// Any attempt that a builder can hold comes back.
RC_GTEST_PROP(RotaCsv, AnyHistoryReadsBack, ()) {
  const auto text = [] {
    return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab \"',;#|:/_1.")));
  };
  const auto whole = [](std::int64_t from, std::int64_t to) {
    return *rc::gen::inRange<std::int64_t>(from, to);
  };
  HistoryBuilder builder;
  const std::int64_t count = whole(1, 20);
  for (std::int64_t i = 0; i < count; ++i) {
    JobRow row;
    const std::string id = whole(0, 3) == 0 ? std::to_string(whole(0, 9)) : "j" + text();
    const std::string name = text(), user = text(), reason = text(), nodes = text();
    row.id = id;
    row.name = name;
    row.user = user;
    row.reason = reason;
    row.nodes = nodes;
    row.submitted = Instant(whole(-1'000'000'000'000, 1'000'000'000'000));
    if (whole(0, 2) > 0) row.started = *row.submitted + Duration(whole(0, 1'000'000'000'000));
    if (row.started && whole(0, 2) > 0) row.ended = *row.started + Duration(whole(0, 1 << 30));
    row.outcome = static_cast<Outcome>(whole(0, kOutcomes));
    if (whole(0, 2) > 0) row.priority = whole(0, 1 << 30);
    if (whole(0, 2) > 0) row.exit_code = whole(0, 256);
    if (whole(0, 2) > 0) row.gpu_busy_permille = whole(0, 1001);
    if (whole(0, 2) > 0) row.memory_used = Bytes(whole(0, 1LL << 50));
    if (whole(0, 2) > 0) {
      row.limit_kind = TimeLimit::kSet;
      row.time_limit = Duration(whole(0, 1'000'000'000'000'000));
    }
    const std::string model = text();
    row.gpus_held = builder.gpus().intern(
        {{.model = builder.names().intern("m" + model), .partition = {}, .milli = whole(0, 9999)}},
        builder.names());
    builder.add(row, {.file = "made", .line = i});
  }
  const std::string first = written(builder.finish());
  const auto again = read_history_text(first, "r.csv", {.format = "rota", .map = {}});
  RC_ASSERT(again.ok());
  RC_ASSERT(written(*again) == first);
}

}  // namespace
}  // namespace rota::history
