// Makes up scenario files for tests: small clusters, crowded queues, every kind of event.
#pragma once

#include <cstdint>
#include <string>

namespace rota::sim {

/// How wild the made-up file is. `kPlain`: whole GPUs, gangs, queues, arrays, dependencies,
/// priorities, contracts, node faults. `kAll`: also fractions, time slices, MIG, elastic jobs,
/// classes, deadlines, device faults, foreign use, sessions, sites.
enum class Wildness { kPlain, kAll };

/// A well-formed file without expectations. The same seed gives the same text everywhere.
std::string random_scenario(std::uint64_t seed, Wildness wildness);

}  // namespace rota::sim
