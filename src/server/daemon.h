// The running server: one driver thread over journal, engine and back-end, and the helpers around
// it (log reading, watchdog). The doors get its Service.
//
//   auto daemon = make_daemon({.state_directory = dir, .config = config, .backend = ...});
//   daemon->start();  ... serve daemon->service() ...  daemon->stop();
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "server/clock.h"
#include "server/config.h"
#include "server/service.h"
#include "store/store.h"
#include "telemetry/driver.h"

namespace rota::server {

struct DaemonOptions {
  std::string state_directory;                       // made when missing (store/folder.h)
  Config config;
  store::Loss loss = store::Loss::kRefuse;           // of the journal's end
  std::unique_ptr<backend::ExecutionBackend> backend;
  std::string backend_name;                          // "local", "simulated"
  std::string devices_name;                          // DeviceDriver::describe()
  bool devices_simulated = false;
  /// The latest device readings by node, in device order (LocalBackend::readings()). Called on the
  /// driver thread; must not block. Null: no readings.
  std::function<std::map<std::string, std::vector<telemetry::DeviceReading>>()> readings;
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
};

/// Opens the journal (one daemon per state folder), recovers the engine, and re-adopts what runs.
/// Error: kConflict (another daemon has the folder), kCorruption (says what, keeps the file; also
/// when the back-end knows jobs that the journal does not, unless that loss is accepted),
/// kUnsupported (written by a newer version), kUnavailable.
[[nodiscard]] Result<std::unique_ptr<Daemon>> make_daemon(DaemonOptions options);

}  // namespace rota::server
