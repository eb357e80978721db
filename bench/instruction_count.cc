// One operation of the engine, so many times: for counting instructions from outside.
//
//   instruction_count place|place_by_mix|gang512|gang4096 NODES ROUNDS
//
// Two runs that differ in ROUNDS alone differ by the instructions of those rounds; see
// instructions.sh. Counts hardly depend on what else the machine does, as times do.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/world.h"

namespace rota::bench {
namespace {

constexpr std::uint64_t kCountSeed = 20'261'130;

void place(std::int64_t nodes, std::int64_t rounds) {
  Random random(kCountSeed);
  PlacementWorld world(nodes);
  world.fill(89, random);
  for (std::int64_t i = 0; i < rounds; ++i) {
    const std::int64_t gpus = job_gpus(random);
    if (world.start(gpus)) world.end_one(gpus, random);
  }
}

void place_by_mix(std::int64_t nodes, std::int64_t rounds) {
  Random random(kCountSeed);
  MixedWorld world(nodes);
  world.fill(90, random);
  for (std::int64_t i = 0; i < rounds; ++i) {
    if (world.start(random, false)) world.end_one(random);
  }
}

void gang(std::int64_t tasks, std::int64_t nodes, std::int64_t rounds) {
  Random random(kCountSeed);
  PlacementWorld world(nodes);
  world.fill(89, random);
  world.empty_nodes(2 * tasks);
  for (std::int64_t i = 0; i < rounds; ++i) {
    auto found = world.place_gang(tasks);
    ROTA_CHECK(found.has_value());
    world.ledger().take(*found);
    world.ledger().give(*found);
  }
}

int run(const std::string& operation, std::int64_t nodes, std::int64_t rounds) {
  if (operation == "place") {
    place(nodes, rounds);
  } else if (operation == "place_by_mix") {
    place_by_mix(nodes, rounds);
  } else if (operation == "gang512") {
    gang(64, nodes, rounds);
  } else if (operation == "gang4096") {
    gang(512, nodes, rounds);
  } else {
    std::fprintf(stderr, "instruction_count: no operation is called %s\n", operation.c_str());
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace rota::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: instruction_count OPERATION NODES ROUNDS\n");
    return 2;
  }
  return rota::bench::run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]));
}
