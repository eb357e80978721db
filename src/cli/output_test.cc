#include "cli/output.h"

#include <gtest/gtest.h>

#include <sstream>

#include "api/v1/cluster.h"
#include "api/v1/queue.h"

namespace rota::cli {
namespace {

struct World {
  std::ostringstream out;
  std::ostringstream err;
  Context context{.out = out, .err = err};
};

api::Queue queue(const char* name, std::int64_t weight) {
  api::Queue q;
  q.name = name;
  q.weight = weight;
  return q;
}

const ListView<api::Queue> kView{
    .key = "queues",
    .name = [](const api::Queue& q) { return q.name; },
    .columns = {{"QUEUE", [](const api::Queue& q) { return Cell{q.name}; }},
                {"WEIGHT", [](const api::Queue& q) { return Cell{std::to_string(q.weight)}; },
                 Align::kRight},
                {"PARENT", [](const api::Queue& q) { return Cell{q.parent}; }, Align::kLeft,
                 Shown::kWide}},
    .empty = "no queues"};

std::string printed(const OutputOptions& options, const std::vector<api::Queue>& queues) {
  World world;
  print_list(world.context, options, queues, kView);
  return world.out.str();
}

TEST(Output, TableAlignsAndHidesWideColumns) {
  EXPECT_EQ(printed({}, {queue("red", 1), queue("research", 10)}),
            "QUEUE     WEIGHT\nred            1\nresearch      10\n");
  EXPECT_EQ(printed({.no_headers = true}, {queue("red", 1)}), "red  1\n");
  EXPECT_EQ(printed({.format_text = "wide"}, {queue("red", 1)}),
            "QUEUE  WEIGHT  PARENT\nred         1\n");
}

TEST(Output, AnEmptyTableSaysSoBesideTheOutput) {
  World world;
  print_list(world.context, {}, std::vector<api::Queue>{}, kView);
  EXPECT_EQ(world.out.str(), "");
  EXPECT_EQ(world.err.str(), "no queues\n");
  EXPECT_EQ(printed({.json = true}, {}), "{\n  \"queues\": []\n}\n");
}

TEST(Output, JsonHasTheFieldsOfTheApi) {
  const auto json = api::parse_json(printed({.format_text = "json"}, {queue("red", 3)}));
  ASSERT_TRUE(json);
  const auto back = api::from_json<api::Queue>((*json)["queues"][0]);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, "red");
  EXPECT_EQ(back->weight, 3);
}

TEST(Output, NameIsOneALine) {
  EXPECT_EQ(printed({.format_text = "name"}, {queue("a", 1), queue("b", 1)}), "a\nb\n");
}

TEST(Output, CsvHasAColumnForEveryFieldAndQuotes) {
  api::Node node;
  node.name = "n1";
  node.reason = "fan, \"left\"";
  node.models = {"a100", "t4"};
  const std::string text = csv_of(field_names<api::Node>(), {api::to_json(node)}, true);
  EXPECT_EQ(text.substr(0, 18), "name,state,reason,");
  EXPECT_NE(text.find("\nn1,,\"fan, \"\"left\"\"\","), std::string::npos) << text;
  EXPECT_NE(text.find("a100;t4"), std::string::npos) << text;
}

TEST(Output, YamlQuotesWhatWouldChangeItsType) {
  api::Json json = api::Json::object();
  json["plain"] = "running";
  json["digits"] = "007";
  json["word"] = "yes";
  json["empty"] = "";
  json["colon"] = "a: b";
  json["none"] = api::Json::array();
  json["list"] = {"x", 2};
  json["items"] = api::Json::array();
  json["items"].push_back({{"id", "7"}, {"nodes", {"n1"}}});
  EXPECT_EQ(yaml_of(json),
            "plain: running\ndigits: \"007\"\nword: \"yes\"\nempty: \"\"\ncolon: \"a: b\"\n"
            "none: []\nlist:\n- x\n- 2\nitems:\n- id: \"7\"\n  nodes:\n  - n1\n");
}

TEST(Output, UnknownFormatNamesTheNearest) {
  const auto format = OutputOptions{.format_text = "jsn"}.format();
  ASSERT_FALSE(format);
  EXPECT_NE(format.error().message.find("did you mean 'json'"), std::string::npos);
}

TEST(Output, ControlCharactersNeverReachTheTerminal) {
  EXPECT_EQ(printed({.no_headers = true}, {queue("a\033[2Jb", 1)}).find('\033'),
            std::string::npos);
}

TEST(Output, ColorsOnlyWhenAsked) {
  World world;
  EXPECT_EQ(paint(world.context, "up", state_tone("up")), "up");
  world.context.color = true;
  EXPECT_NE(paint(world.context, "up", state_tone("up")).find("\033["), std::string::npos);
}

TEST(Numbers, AreShort) {
  EXPECT_EQ(number_text(2), "2");
  EXPECT_EQ(number_text(0.5), "0.5");
  EXPECT_EQ(number_text(1.0 / 3), "0.333");
  EXPECT_EQ(bytes_text(40LL << 30), "40GiB");
  EXPECT_EQ(bytes_text(1536), "1.5KiB");
}

}  // namespace
}  // namespace rota::cli
