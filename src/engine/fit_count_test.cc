#include "engine/fit_count.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/place.h"

namespace rota::engine {
namespace {

/// A few nodes of up to eight GPUs, partly taken as whole devices and as fractions.
class World {
 public:
  explicit World(Random& random) {
    const std::uint64_t nodes = 1 + random.below(5);
    for (std::uint64_t n = 0; n < nodes; ++n) {
      NodeRec node;
      node.spec.name = "n" + std::to_string(n);
      node.spec.devices.resize(random.below(9));
      for (DeviceSpec& device : node.spec.devices) device.memory = gibibytes(80);
      node.devices.resize(node.spec.devices.size());
      NodeCap cap = topology_.add(node.spec);
      cap.open = !random.chance(1, 8);
      const auto index = ledger_.add_node(std::move(cap));
      for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) {
        if (random.chance(1, 10)) ledger_.set_out(index, d, kUnhealthy);
      }
      state_.nodes.push_back(std::move(node));
    }
    for (int i = 0; i < 12; ++i) take_some(random);
  }

  const Request& request(std::int64_t gpus, std::int64_t tasks, const std::string& on) {
    JobShape shape;
    shape.task.gpus = whole_gpus(gpus);
    shape.tasks = tasks;
    if (!on.empty()) shape.on = {on};
    const ShapeIndex index = table_.intern(shape);
    table_.compile(index, state_, topology_, ledger_);
    return table_.at(index);
  }
  std::optional<Tasks> place(const Request& request, std::int64_t tasks) {
    return placer_.place(ledger_, request, tasks);
  }
  Ledger& ledger() { return ledger_; }

 private:
  void take_some(Random& random) {
    const auto node = static_cast<std::int32_t>(random.below(state_.nodes.size()));
    const auto& devices = ledger_.node(node).devices;
    if (devices.empty()) return;
    DeviceShare share;
    share.device = static_cast<std::int32_t>(random.below(devices.size()));
    if (!devices[share.device].whole_free()) return;
    const bool whole = random.chance(2, 3);
    share.gpus = whole ? kWholeGpu : MilliGpu(500);
    share.memory = gibibytes(whole ? 80 : 40);
    TaskAlloc task;
    task.node = node;
    task.devices.push_back(share);
    ledger_.take(task);
  }

  State state_;
  Topology topology_;
  Ledger ledger_;
  RequestTable table_;
  Placer placer_{state_, topology_};
};

TEST(FitCount, SaysWhatPlacingWouldFind) {
  Random random(31);
  int fits = 0;
  for (int round = 0; round < 4000; ++round) {
    World world(random);
    const std::int64_t tasks = random.between(1, 6);
    const Request& wish =
        world.request(random.between(1, 4), tasks, random.chance(1, 3) ? "n0" : "");
    ASSERT_TRUE(wish.plain);
    const bool found = world.place(wish, tasks).has_value();
    ASSERT_EQ(plain_fits(world.ledger(), wish, tasks), found) << "round " << round;
    fits += found ? 1 : 0;
  }
  EXPECT_GT(fits, 500);
  EXPECT_LT(fits, 3500);
}

TEST(FitCount, SaysWhatPlacingBesideAPlaceWouldFind) {
  Random random(32);
  for (int round = 0; round < 4000; ++round) {
    World world(random);
    const std::int64_t tasks = random.between(1, 4);
    const auto kept =
        world.place(world.request(random.between(1, 4), tasks, ""), random.between(1, tasks));
    if (!kept) continue;
    for (int i = 0; i < 3; ++i) {  // part of the place may be taken by now
      const TaskAlloc& task = (*kept)[random.below(kept->size())];
      const DeviceShare& share = task.devices[random.below(task.devices.size())];
      TaskAlloc other = task;
      other.devices = {share};
      if (world.ledger().can_take({other})) world.ledger().take(other);
    }
    const std::int64_t wanted = random.between(1, 4);
    const Request& wish = world.request(random.between(1, 3), wanted, "");
    const bool counted = plain_fits_beside(world.ledger(), wish, wanted, *kept);
    const Ledger::Mark mark = world.ledger().checkpoint();
    for (const TaskAlloc& task : *kept) world.ledger().take_rest(task);
    ASSERT_EQ(counted, world.place(wish, wanted).has_value()) << "round " << round;
    world.ledger().rollback(mark);
  }
}

}  // namespace
}  // namespace rota::engine
