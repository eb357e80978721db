// The parts of a verdict that count what is free, where, and what this cluster could ever offer.
#pragma once

#include "engine/core.h"

namespace rota::engine {

/// insufficient_free or fragmented with numbers, and what of the shortage is drained, unhealthy or
/// used from outside.
void explain_shortage(Core& core, const JobRec& job, Verdict& verdict);
/// infeasible: which resource, within what, and the most this cluster could ever offer.
void explain_infeasible(Core& core, const JobRec& job, Verdict& verdict);
/// data_locality: it would fit at a site it may not use.
void explain_elsewhere(Core& core, const JobRec& job, Verdict& verdict);

/// quota_in_use: its queue is owed what it asks for, but contracts protect those who hold it.
void explain_quota(Core& core, const JobRec& job, Verdict& verdict);
/// When those who run now will have left so much of the job's limits as it needs; none: unknown, or
/// others wait for the same room before it.
std::optional<Instant> limits_open(Core& core, const JobRec& job);
/// What others hold that the job could take now, in milli-GPU. O(takeable jobs) once for its like.
std::int64_t freeable_for(Core& core, const JobRec& job);

}  // namespace rota::engine
