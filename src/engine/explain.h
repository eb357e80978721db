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

}  // namespace rota::engine
