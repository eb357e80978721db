// The keys that describe a job, wherever they stand: submit, running, service and class lines.
#pragma once

#include <string>
#include <vector>

#include "sim/language/reader.h"

namespace rota::sim {

/// Every job key but the ones that make many jobs of one line (array, every, until, min, max).
const std::vector<std::string>& job_keys();

/// `job_keys()` and more.
std::vector<std::string> job_keys_and(const std::vector<std::string>& more);

/// The line's job: defaults, then its class's keys, then its own. Checks values and how they fit
/// together; errors are reported and leave the defaults.
JobTemplate read_job(const Reader& reader);

/// Checks the keys of a `class` line as those of a job.
void check_class(const Reader& reader);

}  // namespace rota::sim
