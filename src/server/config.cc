#include "server/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "engine/engine.h"
#include "server/config_reader.h"
#include "server/names.h"
#include "telemetry/yaml_text.h"

namespace rota::server {
namespace {

constexpr std::int64_t kPriorityMax = 1'000'000'000;

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? std::string() : value;
}

std::string home_folder(const char* xdg, const std::string& below_home) {
  const std::string folder = environment(xdg);
  if (!folder.empty()) return folder;
  const std::string home = environment("HOME");
  return (home.empty() ? "/tmp" : home) + "/" + below_home;
}

void read_policy(ConfigReader& top, Policy& policy, ConfigErrors& errors) {
  ConfigReader reader(top.take("policy"), "policy", errors);
  // Each key by itself, so that the one that breaks a rule is named.
  const auto read = [&](std::string_view key, auto& out) {
    reader.read(key, out);
    const Status sound = engine::check_policy(policy);
    if (!sound.ok()) {
      reader.fail(reader.take(key), "'policy." + std::string(key) + "': " + sound.error().message);
    }
  };
  read("order", policy.order);
  read("fairness", policy.fairness);
  read("fairness_span", policy.fairness_span);
  read("backfill", policy.backfill);
  read("placement", policy.placement);
  read("reclaim", policy.reclaim);
  read("consolidation", policy.consolidation);
  read("min_runtime_max", policy.min_runtime_max);
  read("grace", policy.grace);
  read("retries", policy.retries);
  read("retry_on", policy.retry_on);
  read("quarantine_after", policy.quarantine_after);
  read("cpus_reserved_per_gpu", policy.cpus_reserved_per_gpu);
  read("infeasible", policy.infeasible);
  read("dependency_never", policy.dependency_never);
  read("session_idle_warn", policy.session_idle_warn);
  read("session_idle_end", policy.session_idle_end);
  read("spill", policy.spill);
  read("protect_all_anywhere", policy.protect_all_anywhere);
}

/// Queues nest: a child stands below its parent's key `queues`.
void read_queues(ConfigReader& above, const std::string& parent, Config& config,
                 ConfigErrors& errors) {
  above.each("queues", [&](const std::string& name, const YAML::Node& node) {
    const bool known = std::any_of(config.queues.begin(), config.queues.end(),
                                   [&](const QueueSpec& q) { return q.name == name; });
    if (known) errors.add(node, "queue '" + name + "' is declared twice; names are unique");
    ConfigReader reader(node, "queues." + name, errors);
    QueueSpec queue{.name = name, .parent = parent};
    reader.read("weight", queue.weight);
    reader.read("quota", queue.quota);
    reader.read("limit", queue.limit);
    if (queue.weight < 0 || queue.weight > 1'000'000) {
      errors.add(node, "weight of queue '" + name + "' must lie between 0 and 1000000");
    }
    for (const Status& sound : {check_queue_name(name), check_queue_amounts(queue)}) {
      if (!sound.ok()) errors.add(node, sound.error().message);
    }
    config.queues.push_back(queue);
    read_queues(reader, name, config, errors);
  });
}

void read_users(ConfigReader& top, Config& config, ConfigErrors& errors) {
  top.each("users", [&](const std::string& name, const YAML::Node& node) {
    ConfigReader reader(node, "users." + name, errors);
    UserConfig user{.name = name};
    reader.read("queue", user.queue);
    reader.read("limit", user.limit);
    const bool known = std::any_of(config.queues.begin(), config.queues.end(),
                                   [&](const QueueSpec& q) { return q.name == user.queue; });
    if (!user.queue.empty() && !known) {
      errors.add(node, "user '" + name + "' has queue '" + user.queue +
                           "', which is not declared under 'queues'");
    }
    config.users.push_back(std::move(user));
  });
}

/// Rules between times of a class. What the file does not say gives way to what it says.
void check_class_times(const YAML::Node& node, const Policy& policy, ClassConfig& out,
                       ConfigErrors& errors) {
  if (out.time_limit && out.time_limit_max && *out.time_limit > *out.time_limit_max) {
    if (!node["time_limit"].IsDefined()) {
      out.time_limit = out.time_limit_max;
    } else {
      errors.add(node["time_limit"], "time_limit of class '" + out.name + "' (" +
                                         format_duration(*out.time_limit) +
                                         ") is above its time_limit_max (" +
                                         format_duration(*out.time_limit_max) + ")");
    }
  }
  if (out.min_runtime && *out.min_runtime > policy.min_runtime_max &&
      node["min_runtime"].IsDefined()) {
    errors.add(node["min_runtime"], "min_runtime of class '" + out.name + "' (" +
                                        format_duration(*out.min_runtime) +
                                        ") is above policy.min_runtime_max (" +
                                        format_duration(policy.min_runtime_max) + ")");
  }
}

void read_class(const std::string& name, const YAML::Node& node, const Policy& policy,
                ClassConfig& out, ConfigErrors& errors) {
  ConfigReader reader(node, "classes." + name, errors);
  reader.read("help", out.help);
  reader.read("gpus", out.gpus);
  reader.read("time_limit", out.time_limit);
  reader.read("time_limit_max", out.time_limit_max);
  reader.read("min_runtime", out.min_runtime);
  reader.read("protect_all", out.protect_all);
  reader.read("charge", out.charge);
  reader.read("interactive", out.interactive);
  reader.read("priority", out.priority);
  reader.read("retries", out.retries);
  reader.read("requeue", out.requeue);
  reader.read("checkpoint", out.checkpoint);
  const auto is_zero = [](const std::optional<Duration>& time) { return time && time->ns() == 0; };
  if (is_zero(out.time_limit) || is_zero(out.time_limit_max) || is_zero(out.checkpoint)) {
    errors.add(node, "time_limit, time_limit_max and checkpoint of class '" + name +
                         "' must be greater than zero");
  }
  if (out.retries.value_or(0) < 0) {
    errors.add(node, "retries of class '" + name + "' may not be negative");
  }
  if (std::abs(out.priority.value_or(0)) > kPriorityMax) {
    errors.add(node, "priority of class '" + name + "' must be -1000000000 to 1000000000");
  }
  if (node.IsMap()) check_class_times(node, policy, out, errors);
}

/// A class of the file changes the built-in one of the same name, or adds one.
void read_classes(ConfigReader& top, Config& config, ConfigErrors& errors) {
  top.each("classes", [&](const std::string& name, const YAML::Node& node) {
    const auto found = std::find_if(config.classes.begin(), config.classes.end(),
                                    [&](const ClassConfig& c) { return c.name == name; });
    ClassConfig& out =
        found != config.classes.end() ? *found : config.classes.emplace_back(ClassConfig{name});
    read_class(name, node, config.policy, out, errors);
  });
}

void read_intervals(ConfigReader& top, Config& config, ConfigErrors& errors) {
  {
    const YAML::Node node = top.take("defaults");
    ConfigReader reader(node, "defaults", errors);
    reader.read("min_runtime", config.min_runtime_default);
    reader.read("time_limit", config.time_limit_default);
    const Duration most = config.policy.min_runtime_max;
    if (node.IsDefined() && node.IsMap() && node["min_runtime"].IsDefined() &&
        config.min_runtime_default > most) {
      errors.add(node["min_runtime"],
                 "defaults.min_runtime (" + format_duration(config.min_runtime_default) +
                     ") is above policy.min_runtime_max (" + format_duration(most) + ")");
    }
    if (config.time_limit_default && config.time_limit_default->ns() == 0) {
      errors.add(node, "defaults.time_limit must be greater than zero; none: no limit");
    }
  }
  {
    const YAML::Node node = top.take("intervals");
    ConfigReader reader(node, "intervals", errors);
    reader.read("cycle", config.cycle_interval);
    reader.read("reconcile", config.reconcile_interval);
    reader.read("watchdog", config.watchdog);
    const Duration least = Duration::milliseconds(10);
    if (config.cycle_interval < least || config.reconcile_interval < least ||
        config.watchdog < least) {
      errors.add(node, "an interval must be at least 10ms (0.01s)");
    }
  }
  {
    ConfigReader reader(top.take("retention"), "retention", errors);
    reader.read("events", config.event_retention);
    reader.read("history", config.history_retention);
    reader.read("finished_in_memory", config.finished_in_memory);
  }
  {
    const YAML::Node node = top.take("limits");
    ConfigReader reader(node, "limits", errors);
    reader.read("array_size", config.array_size_max);
    reader.read("live_jobs", config.pending_max);
    if (config.array_size_max < 1 || config.pending_max < 1) {
      errors.add(node, "a limit must be at least 1");
    }
  }
}

void read_top(const YAML::Node& root, Config& config, ConfigErrors& errors) {
  ConfigReader top(root, "", errors);
  read_policy(top, config.policy, errors);
  read_queues(top, "", config, errors);
  read_users(top, config, errors);
  read_classes(top, config, errors);
  read_intervals(top, config, errors);
  top.read("admins", config.admins);
  top.read("default_class", config.default_class);
  top.read("user_queues", config.user_queues);
  top.read("snapshot_every", config.snapshot_every);
  top.read("listen", config.listen);
  top.read("socket", config.socket);
  top.read("state_directory", config.state_directory);
  if (config.find_class(config.default_class) == nullptr) {
    errors.add(root, "default_class '" + config.default_class + "' is not a class");
  }
  if (config.snapshot_every < 1) errors.add(root, "snapshot_every must be at least 1");
}

}  // namespace

Policy product_policy() {
  Policy policy;
  policy.fairness = FairnessKind::kWindow;
  policy.fairness_span = Duration::days(7);
  policy.backfill = Backfill::kEasy;
  policy.grace = Duration::seconds(30);
  policy.infeasible = Infeasible::kRefuse;
  // On one machine there is no elsewhere, and three wrong programs in a row are no sick node.
  policy.retry_on = RetryOn::kAny;
  policy.quarantine_after = std::nullopt;
  return policy;
}

std::vector<ClassConfig> product_classes() {
  const auto minutes = [](std::int64_t n) { return Duration::minutes(n); };
  return {
      {.name = "batch", .help = "anything without a class"},
      {.name = "debug",
       .help = "short tries that start soon",
       .time_limit = minutes(30),
       .time_limit_max = minutes(60),
       .min_runtime = minutes(15)},
      {.name = "interactive",
       .help = "sessions; idle ones end by the idle rules",
       .time_limit = Duration::hours(4),
       .min_runtime = Duration::hours(1),
       .interactive = true,
       .requeue = false},
      {.name = "training", .help = "long runs that save their work", .min_runtime = minutes(120)},
      {.name = "fine-tuning", .help = "shorter training", .min_runtime = minutes(60)},
      {.name = "evaluation", .help = "scores a model", .min_runtime = minutes(30)},
      {.name = "inference", .help = "answers requests", .protect_all = true},
      {.name = "data", .help = "prepares data", .min_runtime = minutes(30)},
      {.name = "free",
       .help = "counted for nobody, first to give way",
       .min_runtime = Duration(),
       .charge = false},
  };
}

// The policy is no initialiser: GCC 12 breaks down inlining that at -O2.
Config::Config() : classes(product_classes()) { policy = product_policy(); }

const ClassConfig* Config::find_class(std::string_view name) const {
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&](const ClassConfig& c) { return c.name == name; });
  return found == classes.end() ? nullptr : &*found;
}

const UserConfig* Config::find_user(std::string_view name) const {
  const auto found = std::find_if(users.begin(), users.end(),
                                  [&](const UserConfig& u) { return u.name == name; });
  return found == users.end() ? nullptr : &*found;
}

Result<Config> parse_config(std::string_view text, const std::string& file) {
  ConfigErrors errors{.file = file, .first = {}};
  Config config;
  config.origin = file;
  const Result<YAML::Node> root = telemetry::load_yaml(std::string(text), file);
  if (!root.ok()) return root.error();
  try {
    if (root->IsDefined() && !root->IsNull()) read_top(*root, config, errors);
  } catch (const YAML::Exception& error) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = "not YAML: " + error.msg,
                 .where = telemetry::place_of(file, error.mark)};
  }
  if (!errors.first.ok()) return errors.first.error();
  return config;
}

Result<Config> load_config(const std::string& file) {
  const Result<std::string> text = telemetry::read_text_file(file);
  if (text.ok()) return parse_config(*text, file);
  return Error{.code = text.error().code,
               .message = "the configuration: " + text.error().message +
                          "; name another with --config",
               .where = file};
}

namespace {

/// Root does as its configuration says, so a file that was not named must be one that only root and
/// the account that reads it can write.
Status check_trust(const std::string& file) {
  struct stat info {};
  if (::geteuid() != 0 || ::stat(file.c_str(), &info) != 0) return {};
  const bool by_others = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (info.st_uid == 0 && !by_others) return {};
  std::error_code error;
  const std::string path = std::filesystem::absolute(file, error).string();
  return Error{.code = ErrorCode::kDenied,
               .message = "the configuration " + path +
                          (by_others ? " can be written by others than root"
                                     : " belongs to another account (uid " +
                                           std::to_string(info.st_uid) + ")") +
                          ", so a daemon of root does not use it unasked; if it is meant: rota "
                          "serve --config " + path,
               .where = file};
}

}  // namespace

Result<Config> find_config(const std::string& named) {
  if (!named.empty()) return load_config(named);
  const std::string candidates[] = {
      "rota.yaml", home_folder("XDG_CONFIG_HOME", ".config") + "/rota/rota.yaml",
      "/etc/rota/rota.yaml"};
  for (const std::string& candidate : candidates) {
    std::error_code error;
    if (!std::filesystem::exists(candidate, error)) continue;
    if (const Status trusted = check_trust(candidate); !trusted.ok()) return trusted.error();
    return load_config(candidate);
  }
  return Config();
}

std::string default_state_directory() {
  const std::string named = environment("ROTA_STATE_DIR");
  if (!named.empty()) return named;
  if (::geteuid() == 0) return "/var/lib/rota";
  return home_folder("XDG_STATE_HOME", ".local/state") + "/rota";
}

std::string default_socket_path() {
  const std::string named = environment("ROTA_SOCKET");
  if (!named.empty()) return named;
  if (::geteuid() == 0) return "/run/rota/rota.sock";
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  if (!runtime.empty()) return runtime + "/rota/rota.sock";
  return default_state_directory() + "/rota.sock";
}

}  // namespace rota::server
