#include "server/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

namespace rota::server {
namespace {

Config parse(const std::string& text) {
  Result<Config> config = parse_config(text, "rota.yaml");
  if (!config.ok()) {
    ADD_FAILURE() << config.error().where << ": " << config.error().message;
    return {};
  }
  return *std::move(config);
}

TEST(Config, AnEmptyFileIsTheProductsDefaults) {
  const Config config = parse("");
  EXPECT_EQ(config.policy.fairness, FairnessKind::kWindow);
  EXPECT_EQ(config.policy.fairness_span, Duration::days(7));
  EXPECT_EQ(config.policy.grace, Duration::seconds(30));
  EXPECT_EQ(config.policy.infeasible, Infeasible::kRefuse);
  EXPECT_EQ(config.policy.retry_on, RetryOn::kAny);
  EXPECT_FALSE(config.policy.quarantine_after.has_value());
  EXPECT_EQ(config.cycle_interval, Duration::seconds(30));
  EXPECT_EQ(config.min_runtime_default, Duration::hours(2));
  EXPECT_FALSE(config.time_limit_default.has_value());
  ASSERT_NE(config.find_class("debug"), nullptr);
  EXPECT_EQ(config.find_class("nothing"), nullptr);
}

// Each default of the documented table is written into a file of its own: it changes nothing.
TEST(Config, TheDocumentedDefaultsOfThePolicyAreTheProducts) {
  std::ifstream in(std::string(ROTA_SOURCE_DIR) + "/docs/reference/rota-yaml.md");
  const std::regex row("^\\| (`[a-z_`, ]+`) \\|.*\\| `?([a-z0-9_]+)`? \\|$");
  const std::regex word("[a-z_]+");
  std::int64_t keys = 0;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) inside = line == "## policy";
    std::smatch match;
    if (!inside || !std::regex_match(line, match, row)) continue;
    const std::string names = match[1];
    for (std::sregex_iterator at(names.begin(), names.end(), word), end; at != end; ++at) {
      const std::string text = "policy: {" + at->str() + ": " + match[2].str() + "}";
      EXPECT_EQ(parse(text).policy, product_policy()) << text;
      ++keys;
    }
  }
  EXPECT_EQ(keys, 18);
}

TEST(Config, ReadsEverySection) {
  const Config config = parse(R"(
policy: {order: priority, backfill: off, fairness: half_life, fairness_span: 3d, grace: 1m,
         quarantine_after: none, protect_all_anywhere: off}
queues:
  research:
    weight: 3
    quota: 8
    queues:
      vision: {weight: 2, limit: 4.5}
  serving: {}
users:
  ana: {queue: vision, limit: 2}
admins: [ana]
classes:
  debug: {time_limit: 10m}
  nightly: {min_runtime: 0, charge: off, retries: 2}
default_class: nightly
user_queues: off
defaults: {min_runtime: 1h, time_limit: 12h}
intervals: {cycle: 5s, reconcile: 20s, watchdog: 1m}
retention: {events: 7d, history: 30d, finished_in_memory: 5m}
limits: {array_size: 50, live_jobs: 100}
snapshot_every: 10
listen: 127.0.0.1:9000
)");
  EXPECT_EQ(config.policy.order, Order::kPriority);
  EXPECT_EQ(config.policy.backfill, Backfill::kOff);
  EXPECT_FALSE(config.policy.quarantine_after.has_value());
  EXPECT_FALSE(config.policy.protect_all_anywhere);
  ASSERT_EQ(config.queues.size(), 3U);
  EXPECT_EQ(config.queues[0].name, "research");
  EXPECT_EQ(config.queues[1].parent, "research");
  EXPECT_EQ(config.queues[1].limit, MilliGpu(4500));
  EXPECT_EQ(config.find_user("ana")->queue, "vision");
  EXPECT_EQ(config.find_class("debug")->time_limit, Duration::minutes(10));
  EXPECT_EQ(config.find_class("debug")->min_runtime, Duration::minutes(15));
  EXPECT_EQ(config.find_class("nightly")->charge, false);
  EXPECT_EQ(config.default_class, "nightly");
  EXPECT_EQ(config.time_limit_default, Duration::hours(12));
  EXPECT_EQ(config.snapshot_every, 10);
  EXPECT_EQ(config.listen, "127.0.0.1:9000");
}

struct BadCase {
  const char* text;
  const char* where;
  const char* says;
};

TEST(Config, ErrorsNameFileLineColumnAndTheNearestWord) {
  const BadCase cases[] = {
      {"policy:\n  backfil: easy\n", "rota.yaml:2:3", "did you mean 'backfill'?"},
      {"policy:\n  backfill: eazy\n", "rota.yaml:2:13", "did you mean 'easy'?"},
      {"polcy: {}\n", "rota.yaml:1:1", "did you mean 'policy'?"},
      {"queues:\n  a: {wieght: 2}\n", "rota.yaml:2:7", "queues.a.wieght"},
      {"queues:\n  a: {weight: -1}\n", "rota.yaml:2:6", "between 0 and 1000000"},
      {"queues: {a: {}, b: {queues: {a: {}}}}\n", "rota.yaml:1:33", "declared twice"},
      {"users:\n  ana: {queue: nope}\n", "rota.yaml:2:8", "'nope'"},
      {"intervals:\n  cycle: soon\n", "rota.yaml:2:10", "intervals.cycle"},
      {"intervals: {cycle: 0s}\n", "rota.yaml:1:12", "at least"},
      {"admins: ana\n", "rota.yaml:1:9", "must be a list"},
      {"policy: [1]\n", "rota.yaml:1:9", "must be a mapping"},
      {"listen: a\nlisten: b\n", "rota.yaml:2:1", "given twice"},
      {"default_class: nope\n", "rota.yaml:1:1", "'nope' is not a class"},
      {"a: [1\n", "rota.yaml:2:1", "not YAML"},
  };
  for (const BadCase& bad : cases) {
    const Result<Config> config = parse_config(bad.text, "rota.yaml");
    ASSERT_FALSE(config.ok()) << bad.text;
    EXPECT_EQ(config.error().where, bad.where) << bad.text << config.error().message;
    EXPECT_NE(config.error().message.find(bad.says), std::string::npos)
        << config.error().message;
  }
}

TEST(Config, AMissingFileSaysWhatToDo) {
  const Result<Config> config = load_config("/nonexistent/rota.yaml");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
  EXPECT_NE(config.error().message.find("--config"), std::string::npos);
}

}  // namespace
}  // namespace rota::server
