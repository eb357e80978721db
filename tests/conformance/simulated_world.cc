#include "backend/simulated/simulated_backend.h"
#include "tests/conformance/world.h"

namespace rota::conformance {
namespace {

using backend::AttemptScript;
using backend::SimulatedBackend;
using backend::SimulatedOptions;
using backend::StartOrder;

constexpr Duration kStep = Duration::milliseconds(1);

class SimulatedWorld final : public World {
 public:
  SimulatedWorld() : backend_(options()) {}

  backend::ExecutionBackend& backend() override { return backend_; }

  StartOrder order(std::uint64_t job, std::int64_t attempt, int tasks,
                   const Behaviour& behaviour) override {
    AttemptScript script;
    script.runtime = behaviour.runtime;
    script.exit_code = behaviour.exit_code;
    script.signal = behaviour.killed_by;
    script.launch_fails = behaviour.cannot_launch;
    if (behaviour.ignores_term) script.stop_delay = Duration::hours(1);
    if (behaviour.code_on_user_signal >= 0) {
      script.exit_on_signal[10] = behaviour.code_on_user_signal;
    }
    backend_.script(JobId(job), {script});
    StartOrder order;
    order.job = JobId(job);
    order.attempt = attempt;
    for (int i = 0; i < tasks; ++i) {
      TaskPlace place;
      place.task = i;
      place.node = "sim1";
      place.devices.push_back({.device = i, .gpus = kWholeGpu});
      order.allocation.tasks.push_back(place);
    }
    return order;
  }

  void wait(const std::function<bool()>& enough, Duration patience) override {
    const Instant end = backend_.now() + patience;
    collect();
    while (!enough() && backend_.now() < end) {
      backend_.advance_to(backend_.now() + kStep);
      collect();
    }
  }

  void restart() override { backend_.lose_facts(); }

  std::int64_t begun(std::uint64_t job, std::int64_t attempt) override {
    return backend_.launches(JobId(job), attempt);
  }

 private:
  static SimulatedOptions options() {
    SimulatedOptions options;
    NodeSpec node;
    node.name = "sim1";
    node.devices.resize(8);
    options.nodes = {node};
    return options;
  }

  SimulatedBackend backend_;
};

}  // namespace

std::unique_ptr<World> make_simulated_world() { return std::make_unique<SimulatedWorld>(); }

}  // namespace rota::conformance
