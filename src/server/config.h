// rota.yaml: queues, users, classes, policy, retention and intervals. No file is needed; every key
// has a default that suits one machine with several people.
//
// Search order of find_config(): the file named by the caller, ./rota.yaml,
// $XDG_CONFIG_HOME/rota/rota.yaml (~/.config/rota/rota.yaml), /etc/rota/rota.yaml; the first wins.
// A file that was found and not named must be root's alone when root reads it.
// Keys are strict: an unknown one is an error with file:line:column and the nearest known word.
// Pure values and parsing; load_config() reads one file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "model/policy.h"
#include "model/queue.h"

namespace rota::server {

/// A named bundle of defaults and rules. Absent: the product's own default.
struct ClassConfig {
  std::string name;
  std::string help;                          // for people
  std::optional<MilliGpu> gpus;
  std::optional<Duration> time_limit;        // default of a job that names none
  std::optional<Duration> time_limit_max;    // a longer one is refused
  std::optional<Duration> min_runtime;
  std::optional<bool> protect_all;
  std::optional<bool> charge;
  std::optional<bool> interactive;
  std::optional<std::int64_t> priority;
  std::optional<std::int64_t> retries;
  std::optional<bool> requeue;
  std::optional<Duration> checkpoint;

  friend bool operator==(const ClassConfig&, const ClassConfig&) = default;
};

struct UserConfig {
  std::string name;
  std::string queue;                         // where jobs go that name no queue; may be empty
  std::optional<MilliGpu> limit;
};

/// Who gets a queue of their own when a job names none.
enum class UserQueues { kAuto, kOn, kOff };  // kAuto: on when the file declares no queue
constexpr auto names_of(UserQueues) {
  return std::array<std::string_view, 3>{"auto", "on", "off"};
}

/// The policy of the product: fair over seven days, EASY backfill, 30 s of grace, jobs that can
/// never fit are refused at submit, a retry may be on the same node, and failures of jobs take no
/// node out (devices have their own health).
[[nodiscard]] Policy product_policy();
/// debug, interactive, training, fine-tuning, evaluation, batch, inference, data, free.
[[nodiscard]] std::vector<ClassConfig> product_classes();

struct Config {
  /// The built-in defaults.
  Config();

  std::string origin;                        // the file; empty: built-in defaults
  Policy policy;
  std::vector<QueueSpec> queues;             // parents before children
  std::vector<UserConfig> users;
  std::vector<std::string> admins;           // besides root and the daemon's own account
  std::vector<ClassConfig> classes;
  std::string default_class = "batch";
  UserQueues user_queues = UserQueues::kAuto;

  Duration min_runtime_default = Duration::hours(2);  // the contract of a job that names none
  std::optional<Duration> time_limit_default;         // absent: unlimited
  Duration cycle_interval = Duration::seconds(30);    // between cycles when nothing happens
  Duration reconcile_interval = Duration::seconds(60);  // between questions to the back-end
  Duration watchdog = Duration::seconds(30);
  Duration event_retention = Duration::days(30);
  Duration history_retention = Duration::days(365);
  Duration finished_in_memory = Duration::hours(1);
  std::int64_t snapshot_every = 20'000;      // journal rows
  std::int64_t array_size_max = 10'000;
  std::int64_t pending_max = 200'000;        // live jobs in all

  std::string listen = "127.0.0.1:7682";     // HTTP API; "off": none
  std::string socket;                        // Unix socket; empty: the standard place
  std::string state_directory;               // empty: the standard place

  [[nodiscard]] const ClassConfig* find_class(std::string_view name) const;
  [[nodiscard]] const UserConfig* find_user(std::string_view name) const;
};

/// `file` is for messages only. Error: kInvalidArgument, `where` is file:line:column.
[[nodiscard]] Result<Config> parse_config(std::string_view text, const std::string& file);
/// Error: kNotFound, or as parse_config().
[[nodiscard]] Result<Config> load_config(const std::string& file);
/// The first file of the search order; defaults when there is none. Error: as load_config(), or
/// kDenied when root found one that another account can write.
[[nodiscard]] Result<Config> find_config(const std::string& named);

/// $ROTA_STATE_DIR; root: /var/lib/rota; else $XDG_STATE_HOME/rota, ~/.local/state/rota.
[[nodiscard]] std::string default_state_directory();
/// $ROTA_SOCKET; root: /run/rota/rota.sock; else $XDG_RUNTIME_DIR/rota/rota.sock, or
/// rota.sock in the state folder.
[[nodiscard]] std::string default_socket_path();

}  // namespace rota::server
