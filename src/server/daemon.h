// The running server: one driver thread over journal, engine and back-end, and the helpers around
// it (log reading, device readings, watchdog). The doors get its Service.
//
//   auto daemon = make_daemon({.state_directory = dir, .config = config, .backend = ...});
//   daemon->start();  ... serve daemon->service() ...  daemon->stop();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "server/clock.h"
#include "server/config.h"
#include "server/service.h"
#include "telemetry/driver.h"

namespace rota::server {

struct DaemonOptions {
  std::string state_directory;                       // made, 0700, when missing
  Config config;
  std::unique_ptr<backend::ExecutionBackend> backend;
  std::string backend_name;                          // "local", "simulated"
  /// For readings of use, power and heat; asked from one thread of its own. Null: no readings.
  /// May be the instance a back-end uses only if that class allows calls from several threads.
  std::shared_ptr<telemetry::DeviceDriver> devices;
  std::shared_ptr<Clock> clock;                      // null: the system's
  std::string version;
  std::string url;                                   // of the HTTP API, for `info`
};

struct Health {
  bool healthy = true;
  std::vector<std::string> problems;                 // in words
};

class Daemon {
 public:
  virtual ~Daemon() = default;                       // stops
  [[nodiscard]] virtual Service& service() = 0;
  /// Starts the threads. Before it, calls to the service wait in the queue.
  virtual Status start() = 0;
  /// Takes a snapshot, closes the journal, joins all threads. Jobs run on. Unanswered calls get
  /// kUnavailable. Idempotent.
  virtual void stop() = 0;
  /// From any thread, at once, also when the driver thread is stuck: for /healthz.
  [[nodiscard]] virtual Health health() const = 0;
  /// Shown by `info` and `doctor`; call when the door knows its address.
  virtual void set_url(const std::string& url) = 0;
  /// The secret of the HTTP API: state_directory/token, made at the first start, mode 0600.
  [[nodiscard]] virtual const std::string& token() const = 0;
};

/// Opens the journal (one daemon per state folder), recovers the engine, and re-adopts what runs.
/// Error: kConflict (another daemon has the folder), kCorruption (says what and keeps the file),
/// kUnsupported (written by a newer version), kUnavailable.
[[nodiscard]] Result<std::unique_ptr<Daemon>> make_daemon(DaemonOptions options);

/// The token in `state_directory`; made when missing. Error: kUnavailable, kDenied when others may
/// read it.
[[nodiscard]] Result<std::string> load_or_make_token(const std::string& state_directory);

}  // namespace rota::server
