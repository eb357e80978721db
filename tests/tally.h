// Counts what the random tests of this program played and tells it in one line at its end, which
// `./rota-dev soak` adds up over all rounds:
//
//   played: 430 worlds, 81234 events, 90321 cycles
//
// A world is one run of an engine or a server from its empty start, shrinking a failure included;
// an event is one that was told, refused or not; a cycle is one pass of the engine. Included by
// each test program that plays worlds. Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

namespace rota::testing_tally {

struct Tally {
  std::uint64_t worlds = 0;
  std::uint64_t events = 0;
  std::uint64_t cycles = 0;
};

inline Tally tally;

class TallyPrinter : public testing::Environment {
 public:
  void TearDown() override {
    if (tally.worlds == 0) return;
    std::cout << "played: " << tally.worlds << " worlds, " << tally.events << " events, "
              << tally.cycles << " cycles" << std::endl;
  }
};

// Google Test owns it from here on.
inline const testing::Environment* const tally_printer =
    testing::AddGlobalTestEnvironment(new TallyPrinter);

}  // namespace rota::testing_tally
