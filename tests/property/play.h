// Plays a script on an engine: the stage, then step by step what happens, with a world that answers
// the decisions and a watch that checks every settled instant.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/property/backend_world.h"
#include "tests/property/happenings.h"
#include "tests/property/script.h"
#include "tests/property/stage.h"
#include "tests/property/watch.h"

namespace rota::property {

/// Changes that must not matter.
struct Twist {
  bool renamed = false;        // other names for nodes, queues and users
  bool any_order = false;      // independent submissions of one instant the other way round
  bool save_and_load = false;  // the engine is replaced by its own snapshot before every step
  bool look = false;           // people look at everything all the time
  bool watched = true;         // check promises (they must not matter either)
};

struct Played {
  std::string broken;               // the first broken promise; empty: none
  std::vector<std::string> log;     // decisions in words, names as numbers
  std::uint64_t digest = 0;         // of the last state
  std::uint64_t moves = 0;          // jobs that left for another and started again at once
};

Played play(const Script& script, const Twist& twist);

/// Where two logs part, in words; empty: nowhere.
std::string difference(const Played& a, const Played& b);

/// Moves in all plays of this process.
std::uint64_t moves_played();

}  // namespace rota::property
