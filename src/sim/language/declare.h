// Gives jobs and groups their numbers, in file order.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/language/reader.h"

namespace rota::sim {

/// A file has at most this many jobs.
inline constexpr std::size_t kJobsMax = 100'000;

/// Index of the template in Scenario::templates.
std::size_t add_template(ParseState& state, JobTemplate job);

/// A job of its own. Nothing when the name is taken, no name, or there are too many jobs; the error
/// is reported at the line's first word.
std::optional<std::size_t> declare_job(const Reader& reader, const std::string& name,
                                       std::size_t job_template);

struct GroupShape {
  std::size_t size = 0;
  std::optional<std::int64_t> throttle;
};
/// A group with members NAME.1 ... NAME.size. Errors as declare_job.
std::optional<std::size_t> declare_group(const Reader& reader, const std::string& name,
                                         std::size_t job_template, GroupShape shape);

}  // namespace rota::sim
