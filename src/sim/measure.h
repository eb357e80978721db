// Looks up, in the engine, the value that a check of an `expect` line is about, and compares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sim/expectation.h"
#include "sim/scenario.h"

namespace rota::sim {

/// A check's outcome; `actual` in the words of scenario files.
struct Measured {
  bool holds = false;
  std::string actual;
};

/// Checks that are about one thing. `numbers` are the reason's numbers of the line, used by
/// `reason=`. A value that does not exist yet (the start of a pending job) satisfies `!=` alone.
Measured measure_job(const engine::Engine& engine, const Scenario& scenario, JobId job,
                     const Check& check, const std::vector<Check>& numbers);
Measured measure_queue(const engine::Engine& engine, const std::string& queue, const Check& check);
Measured measure_node(const engine::Engine& engine, const std::string& node, const Check& check);
Measured measure_user(const engine::Engine& engine, const std::string& user, const Check& check);
Measured measure_cluster(const engine::Engine& engine, const Check& check);

/// True for keys that count or sum over many jobs instead of holding for each.
bool is_sum_key(const std::string& key);
Measured measure_sum(const engine::Engine& engine, const std::vector<JobId>& jobs,
                     const Check& check);

}  // namespace rota::sim
