// Runs a property over random scripts and fails the test with the shortest script that breaks it.
//
// ROTA_SEED=N changes the seed (default 1); ROTA_SOAK_SECONDS=N repeats each property with one seed
// after the other until the time is over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/property/script.h"

namespace rota::property {

struct Amount {
  int cases = 100;
  int steps = 60;   // of the longest script
};

/// The property returns what is wrong, in words; empty: nothing.
using Property = std::function<std::string(const Script&)>;

void check_property(const std::string& name, const Amount& amount, const Property& property);

/// Seconds that each property may soak; 0: the default amount only.
std::int64_t soak_seconds();
std::uint64_t first_seed();

}  // namespace rota::property
