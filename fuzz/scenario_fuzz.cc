// Any bytes as a scenario file: the parser must answer with a scenario or with errors, never crash,
// and a small scenario must run, twice alike.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/run.h"

namespace {

using namespace rota;
using namespace rota::sim;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Runs stay short: the fuzzer's time belongs to many small files.
bool is_small(const Scenario& scenario) {
  std::size_t devices = 0;
  std::size_t nodes = 0;
  for (const auto& statement : scenario.stage) {
    const auto* body = std::get_if<NodeStatement>(&statement.body);
    if (body == nullptr) continue;
    nodes += body->nodes.size();
    for (const auto& node : body->nodes) devices += node.devices.size();
  }
  for (const auto& job : scenario.templates) {
    if (job.spec.shape.tasks > 64) return false;
  }
  const bool few_jobs = scenario.jobs.size() <= 40 && scenario.blocks.size() <= 20;
  return few_jobs && nodes <= 16 && devices <= 64 && scenario.policy.retries <= 8;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ParsedScenario parsed = parse_scenario(text, "f");
  for (const auto& error : parsed.errors) require(error.line >= 1 && error.column >= 1);
  if (!parsed.ok() || !is_small(parsed.scenario)) return 0;
  const RunOptions options{.trace = true, .check_invariants = false, .run_twice = false};
  const ScenarioReport first = run_scenario(parsed.scenario, options);
  const ScenarioReport second = run_scenario(parsed.scenario, options);
  require(first.digest == second.digest);
  require(first.passed == (first.failures.empty() && first.problems.empty() &&
                           first.broken.empty()));
  require(!report_text(first).empty());
  return 0;
}
