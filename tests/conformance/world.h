// What the conformance suite needs of a back-end beyond its interface: jobs that behave in a known
// way, time, and a restart of the daemon.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace rota::conformance {

/// How a job of the suite behaves.
struct Behaviour {
  std::optional<Duration> runtime;  // absent: until it is stopped
  std::int64_t exit_code = 0;
  std::int64_t killed_by = 0;       // ends by this signal, sent to itself
  bool ignores_term = false;
  std::int64_t code_on_user_signal = -1;  // exits with it on SIGUSR1; -1: not listening
  bool cannot_launch = false;       // a fault of the node
};

class World {
 public:
  virtual ~World() = default;
  virtual backend::ExecutionBackend& backend() = 0;
  /// An order of `tasks` tasks, each with one device of node 1.
  virtual backend::StartOrder order(std::uint64_t job, std::int64_t attempt, int tasks,
                                    const Behaviour& behaviour) = 0;
  /// Facts until `enough` says so or `patience` is over; all of them are kept in facts().
  virtual void wait(const std::function<bool()>& enough, Duration patience) = 0;
  /// The daemon dies and is started again; facts not polled are lost.
  virtual void restart() = 0;
  /// How often the attempt's command was begun.
  virtual std::int64_t begun(std::uint64_t job, std::int64_t attempt) = 0;

  [[nodiscard]] const backend::Facts& facts() const { return facts_; }

 protected:
  void collect() {
    for (Event& fact : backend().poll()) facts_.push_back(std::move(fact));
  }
  backend::Facts facts_;
};

struct WorldKind {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
};
std::vector<WorldKind> all_worlds();

std::unique_ptr<World> make_simulated_world();
std::unique_ptr<World> make_local_world();

}  // namespace rota::conformance
