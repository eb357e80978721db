// What an `expect` line demands, as data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "model/job.h"
#include "model/verdict.h"

namespace rota::sim {

enum class Operator { kEqual, kNotEqual, kAtMost, kAtLeast, kContains };
constexpr auto names_of(Operator) {
  return std::array<std::string_view, 5>{"=", "!=", "<=", ">=", "~"};
}

enum class Subject { kJob, kMany, kQueue, kNode, kUser, kCluster };

/// How a key's value is written and compared.
enum class ValueKind {
  kCount,      // a whole number
  kInstant,    // a duration since the start
  kDuration,
  kGpus,       // milli-GPU
  kGpuHours,   // a decimal, six places
  kMoney,      // a decimal, six places
  kRatio,      // a decimal, six places
  kState,      // of a job or a node
  kNames,      // node names, in any order
  kDevices,    // n1:0-3, in any order, a device once per time slice
  kEvictor,    // a job, `drain` or `quarantine`
  kReason,     // a reason code
  kText,       // part of the explanation
  kResource,
  kScope,
  kAmount,     // of a reason: GPUs, pieces or memory
  kHolder,     // of a reason: a job, queue or user
};

/// One `key<op>value`. `number` holds what the kind says (nanoseconds for instants and durations,
/// millionths for decimals, milli-pieces or bytes for amounts), `items` names or devices.
struct Check {
  std::string key;
  ValueKind kind = ValueKind::kCount;
  Operator op = Operator::kEqual;
  std::string value;                // as written
  std::int64_t number = 0;
  bool in_bytes = false;            // an amount written with a unit of memory
  std::vector<std::string> items;   // sorted; devices one by one, `n1:0`, `n1:0@4`
  std::int64_t column = 0;
};

/// A line of checks about one thing, or about each of several.
struct Expectation {
  Subject subject = Subject::kJob;
  std::string names;                // as written; empty for the cluster
  std::vector<std::size_t> jobs;    // indices into Scenario::jobs, for kJob and kMany
  bool by_group = false;            // named by a bare group: members not submitted yet are left out
  std::vector<std::string> things;  // queues, nodes or users
  std::vector<Check> checks;        // all but those about a reason's numbers
  std::vector<Check> reason_numbers;  // belong to the one `reason=` among the checks
};

}  // namespace rota::sim
