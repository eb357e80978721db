#include "history/json_items.h"

#include <gtest/gtest.h>

#include "history/read.h"

namespace rota::history {
namespace {

Error error_of(const std::string& text) {
  const auto read = read_history_text(text, "s.json", {.format = "sacct-json", .map = {}});
  EXPECT_FALSE(read);
  return read ? Error{} : read.error();
}

TEST(JsonItems, DeepNestingIsRefusedNotFollowed) {
  for (const std::string& open : {std::string("["), std::string("{\"a\":")}) {
    std::string deep = "{\"jobs\":[";
    for (int i = 0; i < 3'000'000 / std::ssize(open); ++i) deep += open;
    EXPECT_NE(error_of(deep).message.find("deeper than 200"), std::string::npos);
    const Error line = error_of("{}\n" + deep + "\n");
    EXPECT_NE(line.message.find("deeper than 200"), std::string::npos);
    EXPECT_EQ(line.where, "s.json:2:1");
  }
}

TEST(JsonItems, AnItemWithoutEndIsRefused) {
  const std::string zeros = "{\"jobs\":[{\"a\":\"" + std::string(65 << 20, '0');
  EXPECT_NE(error_of(zeros).message.find("64 MiB"), std::string::npos);
  const std::string filling = "{\"meta\":\"" + std::string(65 << 20, ' ');
  EXPECT_NE(error_of(filling).message.find("64 MiB"), std::string::npos);
}

TEST(JsonItems, AnItemOfTooManyValuesIsRefused) {
  std::string zeros = "{\"jobs\":[{\"a\":[0";
  for (int i = 0; i < 4'100'000; ++i) zeros += ",0";
  EXPECT_NE(error_of(zeros + "]}]}").message.find("4000000 values"), std::string::npos);
}

TEST(JsonItems, ManyItemsMayBeLongerThanOne) {
  std::string many = "{\"jobs\":[";
  const std::string one = "{\"job_id\":1,\"name\":\"" + std::string(1 << 20, 'n') + "\"}";
  for (int i = 0; i < 70; ++i) many += (i == 0 ? "" : ",") + one;
  const auto read = read_history_text(many + "]}", "s.json",
                                      {.format = "sacct-json", .map = {}});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->notes().rows, 70);
}

}  // namespace
}  // namespace rota::history
