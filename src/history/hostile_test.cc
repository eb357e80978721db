// Inputs made to do harm: each ends in a history or in an error that says what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "history/csv/rota_csv.h"
#include "history/read.h"
#include "history/words.h"

namespace rota::history {
namespace {

constexpr const char* kSacctHeader = "JobID|Submit|Start|End|State|AllocTRES|NodeList\n";
constexpr const char* kTimes = "|2026-03-02T10:00:00|2026-03-02T10:01:00|2026-03-02T10:02:00|";

Result<JobHistory> read(const std::string& text, const ReadOptions& options = {}) {
  return read_history_text(text, "h", options);
}

std::string sixteen_bit(const std::string& text, bool is_big) {
  std::string wide = is_big ? "\xfe\xff" : "\xff\xfe";
  for (const char c : text) {
    wide += is_big ? std::string{'\0', c} : std::string{c, '\0'};
  }
  return wide;
}

TEST(Hostile, SixteenBitTextNamesTheCommand) {
  const std::string table = "id,submit,run,gpus\n1,2,3,4\n";
  for (const bool is_big : {false, true}) {
    const std::string wide = sixteen_bit(table, is_big);
    for (const std::string& text : {wide, wide.substr(2)}) {  // with and without its mark
      const auto history = read(text);
      ASSERT_FALSE(history);
      EXPECT_NE(history.error().message.find("iconv"), std::string::npos);
      EXPECT_FALSE(read(text, {.format = "csv", .map = {}}));
    }
  }
}

TEST(Hostile, LineEndsOfAllKinds) {
  const std::string header(kSacctHeader);
  const std::string rest = std::string(kTimes) + "COMPLETED|gres/gpu=1|n1";
  const auto mixed = read(header.substr(0, header.size() - 1) + "\r\n1" + rest + "\n2" + rest +
                          "\r\n3" + rest);
  ASSERT_TRUE(mixed) << mixed.error().message;
  EXPECT_EQ(mixed->jobs().size(), 3U);
  EXPECT_EQ(mixed->text(mixed->attempts()[1].nodes), "n1");
  std::string old = header + "1" + rest + "\n2" + rest + "\n";
  std::replace(old.begin(), old.end(), '\n', '\r');
  const auto alone = read(old);
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message.find("tr '\\r' '\\n'"), std::string::npos);
  EXPECT_EQ(alone.error().where, "h:1:48");
}

TEST(Hostile, ControlCharactersReachNoTerminal) {
  const std::string evil = "a\x1b]0;hi\x07" + std::string(1, '\0') + "b";
  const auto history = read("id,submit,run,gpus,user,model,state\n" + evil + ",1,2,3," + evil +
                            "," + evil + "," + evil + "\n2,1,x" + evil + ",3,u,m,s\n");
  ASSERT_TRUE(history) << history.error().message;
  const JobRecord& job = history->jobs().front();
  EXPECT_EQ(history->text(job.user), "a ]0;hi  b");
  EXPECT_FALSE(has_control(history->id_text(job.key)));
  EXPECT_FALSE(has_control(gpu_set_text(history->gpus(), history->names(), job.gpus)));
  ASSERT_EQ(history->notes().kinds.size(), 2U);
  for (const RowKind& kind : history->notes().kinds) {
    for (const std::string& place : kind.places) EXPECT_FALSE(has_control(place)) << place;
  }
  const auto lost = read(evil + ",run\n1,2\n", {.format = "csv", .map = {}});
  ASSERT_FALSE(lost);
  EXPECT_FALSE(has_control(lost.error().message));
}

TEST(Hostile, EightBitAndTurningControlsReachNoTerminal) {
  const auto history = read("id,submit,run,gpus,user,team\n\u009b2J,1,2,3,a\u202eb,\u2028c\n");
  ASSERT_TRUE(history) << history.error().message;
  const JobRecord& job = history->jobs().front();
  EXPECT_EQ(history->id_text(job.key), " 2J");
  EXPECT_EQ(history->text(job.user), "a b");
  EXPECT_EQ(history->text(job.queue), " c");
}

TEST(Hostile, NumbersWithoutMeasureAreNotTold) {
  const std::string nines(400, '9');
  const auto history = read(
      std::string(kSacctHeader) + nines + kTimes + "COMPLETED|gres/gpu=" + nines + ",mem=" +
      nines + "P|n[1-" + nines + "]\n1" + kTimes +
      "COMPLETED|gres/gpu=9223372036854775807,gres/gpu:a100=9223372036854775807|n1\n");
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->jobs().size(), 2U);
  std::ostringstream out;
  write_history_csv(*history, out);
  EXPECT_TRUE(read(out.str())) << out.str();
  const auto table = read("id,submit,run,gpus\n1,-5,3,4\n2,1e300,3,4\n3,inf,3,4\n4,5,-3,4\n"
                          "5,5,3,-4\n6,5,3," + nines + "\n7,5,3,4\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(history->notes().count_of(RowFate::kSkipped), 0);
  EXPECT_EQ(table->notes().count_of(RowFate::kSkipped), 5);
}

TEST(Hostile, ARowOfManyWrongValuesIsSkippedOnce) {
  const auto table = read("id,submit,start,end,gpus\n1,soon,then,later,none\n2,1,2,3,4\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->notes().count_of(RowFate::kSkipped), 1);
  EXPECT_EQ(table->jobs().size(), 1U);
}

TEST(Hostile, AColumnThatIsThereTwiceIsAnError) {
  const auto twice = read("id,submit,run,gpus,gpus\n1,2,3,4,5\n");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("'gpus' is there twice"), std::string::npos);
  EXPECT_TRUE(read("id,submit,run,gpus,x,x\n1,2,3,4,5,6\n"));  // of one that nobody reads
}

TEST(Hostile, FieldsAndLinesOfMebibytes) {
  const std::string wide(8 << 20, 'a');
  const auto history = read(std::string(kSacctHeader) + "1" + kTimes + "COMPLETED|gres/gpu:" +
                            wide + "=1|n1\n");
  ASSERT_TRUE(history) << history.error().message;
  const auto commas = read("id,submit,run,gpus\n" + std::string(8 << 20, ',') + "\n1,2,3,4\n");
  ASSERT_TRUE(commas) << commas.error().message;
  EXPECT_EQ(commas->notes().count_of(RowFate::kSkipped), 1);
}

TEST(Hostile, NothingAtAll) {
  for (const char* text : {"", "\n\n\n", "\xef\xbb\xbf", "# only a comment\n"}) {
    const auto history = read(text);
    ASSERT_FALSE(history) << text;
    EXPECT_FALSE(history.error().message.empty());
  }
}

}  // namespace
}  // namespace rota::history
