#include "server/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
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
  EXPECT_EQ(keys, 19);
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
      {"listen: off\n---\nlisten: 127.0.0.1:1\n", "rota.yaml:3:1", "second document"},
      {"classes:\n  debug: {time_limit: 2h}\n", "rota.yaml:2:23", "above its time_limit_max (1h)"},
      {"classes:\n  x: {time_limit_max: 1h, time_limit: 2h}\n", "rota.yaml:2:39", "of class 'x'"},
      {"classes: {x: {min_runtime: 9h}}\n", "rota.yaml:1:28", "above policy.min_runtime_max (8h)"},
      {"policy: {min_runtime_max: 1h}\ndefaults:\n  min_runtime: 90m\n", "rota.yaml:3:16",
       "defaults.min_runtime (1h30m) is above policy.min_runtime_max (1h)"},
      {"queues:\n  ../x: {}\n", "rota.yaml:2:9", "cannot be the name of a queue"},
      {"queues:\n  a: {quota: 4, limit: 2}\n", "rota.yaml:2:6", "above its limit (2 GPUs)"},
      {"default_class: nope\n", "rota.yaml:1:1", "'nope' is not a class"},
      {"a: [1\n", "rota.yaml:2:1", "not YAML"},
      {"policy:\n  fairness_span: 0s\n", "rota.yaml:2:18", "policy.fairness_span"},
      {"policy:\n  fairness: instant\n  quarantine_after: 0\n", "rota.yaml:3:21", "at least 1"},
      {"policy: {session_idle_end: 0s}\n", "rota.yaml:1:28", "greater than zero"},
      {"policy:\n  grace: -1s\n", "rota.yaml:2:10", "may not be negative"},
      {"policy:\n  retries: -1\n", "rota.yaml:2:12", "may not be negative"},
      {"policy:\n  min_runtime_max: 40000d\n", "rota.yaml:2:20", "36500d"},
      {"retention: {events: -1s}\n", "rota.yaml:1:21", "may not be negative"},
      {"defaults: {time_limit: 0s}\n", "rota.yaml:1:11", "greater than zero"},
      {"classes:\n  a: {time_limit: 0s}\n", "rota.yaml:2:6", "greater than zero"},
      {"classes:\n  a: {retries: -1}\n", "rota.yaml:2:6", "may not be negative"},
  };
  for (const BadCase& bad : cases) {
    const Result<Config> config = parse_config(bad.text, "rota.yaml");
    ASSERT_FALSE(config.ok()) << bad.text;
    EXPECT_EQ(config.error().where, bad.where) << bad.text << config.error().message;
    EXPECT_NE(config.error().message.find(bad.says), std::string::npos)
        << config.error().message;
  }
}

TEST(Config, AnAliasOfSomethingAroundItIsAnError) {
  for (const char* text : {"queues: &q\n  a: {weight: 1, queues: *q}\n",
                           "queues: &q\n  a: {queues: *q}\n  b: {queues: *q}\n",
                           "&top {queues: *top}\n", "admins: &a [x, *a]\n"}) {
    const Result<Config> config = parse_config(text, "rota.yaml");
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(config.error().where.rfind("rota.yaml:", 0), 0U) << config.error().where;
    EXPECT_NE(config.error().message.find("part of"), std::string::npos)
        << config.error().message;
  }
  EXPECT_EQ(parse("users: {a: &u {limit: 2}, b: *u}").users.size(), 2U) << "aliases are fine";
}

TEST(Config, AliasesThatStandForBillionsAreAnError) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += before + (k < 9 ? ", " : "]\n");
  }
  const Result<Config> config = parse_config(text, "rota.yaml");
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.error().message.find("million"), std::string::npos) << config.error().message;
}

TEST(Config, WhatIsNoTextIsAnError) {
  for (const std::string& text : {std::string("\xff\xfe"), std::string("\xff\xfe\n\0", 4),
                                  std::string("# \xe9\n"), std::string("a: 1\n\0", 6)}) {
    const Result<Config> config = parse_config(text, "rota.yaml");
    ASSERT_FALSE(config.ok());
    EXPECT_NE(config.error().message.find("UTF-8"), std::string::npos);
  }
  EXPECT_EQ(parse_config("admins: [a]\nusers: \xff\n", "f").error().where, "f:2:8");
  EXPECT_TRUE(parse_config("\xef\xbb\xbf# a byte order mark\n", "f").ok());
}

TEST(Config, AFolderIsNoFile) {
  const Result<Config> config = load_config("/tmp");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(config.error().where, "/tmp");
  EXPECT_NE(config.error().message.find("folder"), std::string::npos);
}

TEST(Config, AMissingFileSaysWhatToDo) {
  const Result<Config> config = load_config("/nonexistent/rota.yaml");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
  EXPECT_NE(config.error().message.find("--config"), std::string::npos);
}

TEST(Config, WhatTheFileLeavesOutGivesWayToWhatItSays) {
  const Config config = parse("classes:\n  debug: {time_limit_max: 10m}\n"
                              "policy: {min_runtime_max: 1h}\n");
  EXPECT_EQ(config.find_class("debug")->time_limit, Duration::minutes(10));
  EXPECT_EQ(config.min_runtime_default, Duration::hours(2)) << "cut at submit";
}

TEST(Config, RootTrustsNoFileOfAnotherAccount) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::string folder = ::testing::TempDir() + "rota_config_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  std::ofstream("rota.yaml") << "listen: off\n";
  ASSERT_EQ(::chmod("rota.yaml", 0644), 0);
  EXPECT_EQ(find_config("")->listen, "off");
  ASSERT_EQ(::chmod("rota.yaml", 0664), 0);
  EXPECT_EQ(find_config("").error().code, ErrorCode::kDenied);
  ASSERT_EQ(::chmod("rota.yaml", 0644), 0);
  ASSERT_EQ(::chown("rota.yaml", 65534, 65534), 0);
  const Result<Config> refused = find_config("");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_NE(refused.error().message.find("belongs to another account (uid 65534)"),
            std::string::npos);
  EXPECT_EQ(find_config("rota.yaml")->listen, "off") << "it was named";
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rota::server
