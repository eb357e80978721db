#include "engine/ledger.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace rota::engine {
namespace {

DeviceCap device(std::int16_t slots = 0, bool mig = false) {
  DeviceCap d;
  d.memory_free = d.memory_total = 80;
  d.slots_free = d.slots_total = slots;
  d.mig = mig;
  return d;
}

NodeCap node_of(std::vector<DeviceCap> devices) {
  NodeCap node;
  node.devices = std::move(devices);
  node.cpus_total = 64;
  node.memory_total = 512;
  return node;
}

DeviceShare whole(std::int32_t index) {
  DeviceShare share;
  share.device = index;
  share.gpus = kWholeGpu;
  share.memory = Bytes(80);
  return share;
}

DeviceShare part(std::int32_t index, std::int64_t milli, std::int64_t memory) {
  DeviceShare share;
  share.device = index;
  share.gpus = MilliGpu(milli);
  share.memory = Bytes(memory);
  return share;
}

DeviceShare slots(std::int32_t index, std::int32_t count) {
  DeviceShare share;
  share.device = index;
  share.slots = count;
  share.gpus = MilliGpu(250 * count);
  return share;
}

DeviceShare instance(std::int32_t index, std::int32_t start, std::int32_t size) {
  DeviceShare share;
  share.device = index;
  share.mig_start = start;
  share.mig_size = size;
  share.mig_compute = size;
  share.gpus = MilliGpu(100 * size);
  share.memory = Bytes(10 * size);
  return share;
}

TaskAlloc task(std::int32_t node, std::vector<DeviceShare> devices, std::int64_t cpus = 0,
               std::int64_t memory = 0) {
  return {node, 0, std::move(devices), cpus, memory};
}

/// Two nodes: four plain devices; two sliced ones and two that are cut into instances.
Ledger two_nodes() {
  Ledger ledger;
  ledger.add_node(node_of({device(), device(), device(), device()}));
  ledger.add_node(node_of({device(4), device(4), device(0, true), device(0, true)}));
  return ledger;
}

TEST(Ledger, CountsWhatIsTakenAndGivenBack) {
  Ledger ledger = two_nodes();
  const Ledger fresh = ledger;
  EXPECT_EQ(ledger.milli_free_open(), 8000);
  const Tasks tasks{task(0, {whole(0), whole(1)}, 8, 100), task(1, {slots(0, 3)}, 2)};
  ledger.take(tasks);
  EXPECT_EQ(ledger.milli_free_open(), 8000 - 2000 - 750);
  EXPECT_EQ(ledger.node(0).free.whole, 2);
  EXPECT_EQ(ledger.node(0).free.cpus, 56);
  EXPECT_EQ(ledger.node(0).free.memory, 412);
  EXPECT_EQ(ledger.node(1).devices[0].slots_free, 1);
  ledger.give(tasks);
  EXPECT_EQ(ledger, fresh);
  EXPECT_EQ(ledger.milli_free_open(), fresh.milli_free_open());
}

TEST(Ledger, AWholeDeviceIsNoDeviceForFractionsAndTheOtherWayRound) {
  Ledger ledger = two_nodes();
  ledger.take(task(0, {part(0, 500, 40)}));
  EXPECT_FALSE(ledger.node(0).devices[0].whole_free());
  EXPECT_EQ(ledger.node(0).free.whole, 3);
  EXPECT_EQ(ledger.node(0).free.milli, 3500);
  EXPECT_FALSE(ledger.can_take({task(0, {whole(0)})}));
  EXPECT_TRUE(ledger.can_take({task(0, {part(0, 500, 40)})}));
  EXPECT_FALSE(ledger.can_take({task(0, {part(0, 600, 40)})}));
  EXPECT_FALSE(ledger.can_take({task(0, {part(0, 500, 41)})}));
  EXPECT_FALSE(ledger.can_take({task(0, {whole(1)}), task(0, {whole(1)})}));
}

TEST(Ledger, RollbackRestoresEveryCountExactly) {
  Ledger ledger = two_nodes();
  ledger.take(task(1, {instance(2, 0, 1)}, 3));
  const Ledger before = ledger;
  const std::int64_t open_before = ledger.milli_free_open();
  const Ledger::Mark outer = ledger.checkpoint();
  ledger.take(task(0, {whole(0), whole(3)}, 4, 9));
  const Ledger middle = ledger;
  const Ledger::Mark inner = ledger.checkpoint();
  ledger.give(task(1, {instance(2, 0, 1)}, 3));
  ledger.take(task(1, {instance(2, 4, 4), slots(1, 2)}));
  ledger.rollback(inner);
  EXPECT_EQ(ledger, middle);
  ledger.rollback(outer);
  EXPECT_EQ(ledger, before);
  EXPECT_EQ(ledger.milli_free_open(), open_before);
}

TEST(Ledger, AnInnerCommitIsUndoneByTheOuterRollback) {
  Ledger ledger = two_nodes();
  const Ledger before = ledger;
  const Ledger::Mark outer = ledger.checkpoint();
  const Ledger::Mark inner = ledger.checkpoint();
  ledger.take(task(0, {whole(2)}));
  ledger.commit(inner);
  EXPECT_EQ(ledger.node(0).free.whole, 3);
  ledger.rollback(outer);
  EXPECT_EQ(ledger, before);
}

/// Random takes and gives under nested marks, against copies kept at each mark.
class RandomWalk {
 public:
  explicit RandomWalk(std::uint64_t seed) : random_(seed), ledger_(two_nodes()) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    while (!marks_.empty()) undo();
  }

 private:
  struct Kept {
    Ledger::Mark mark;
    Ledger ledger;
    Tasks taken;
  };
  TaskAlloc any_task() {
    const auto node = static_cast<std::int32_t>(random_.below(2));
    const auto index = static_cast<std::int32_t>(random_.below(4));
    DeviceShare share;
    if (node == 0) {
      share = random_.chance(1, 2) ? whole(index)
                                   : part(index, random_.between(1, 999), random_.between(0, 80));
    } else if (index < 2) {
      share = slots(index, static_cast<std::int32_t>(random_.between(1, 4)));
    } else {
      const auto start = static_cast<std::int32_t>(random_.below(7));
      share = instance(index, start, static_cast<std::int32_t>(random_.between(1, 8 - start)));
    }
    return task(node, {share}, random_.between(0, 9), random_.between(0, 99));
  }
  void step() {
    const auto what = random_.below(10);
    if (what < 5) {
      const TaskAlloc wanted = any_task();
      const Ledger before = ledger_;
      const bool can = ledger_.can_take({wanted});
      ASSERT_EQ(ledger_, before);
      if (!can) return;
      ledger_.take(wanted);
      taken_.push_back(wanted);
    } else if (what < 7 && !taken_.empty()) {
      const auto i = random_.below(taken_.size());
      ledger_.give(taken_[i]);
      taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (what == 7 && marks_.size() < 5) {
      marks_.push_back({ledger_.checkpoint(), ledger_, taken_});
    } else if (what == 8 && !marks_.empty()) {
      undo();
    } else if (what == 9 && !marks_.empty()) {
      ledger_.commit(marks_.back().mark);
      marks_.pop_back();
    }
  }
  void undo() {
    Kept kept = std::move(marks_.back());
    marks_.pop_back();
    ledger_.rollback(kept.mark);
    ASSERT_EQ(ledger_, kept.ledger);
    ASSERT_EQ(ledger_.milli_free_open(), kept.ledger.milli_free_open());
    taken_ = std::move(kept.taken);
  }

  Random random_;
  Ledger ledger_;
  Tasks taken_;
  std::vector<Kept> marks_;
};

TEST(Ledger, NestedMarksAreExactOnRandomWalks) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) RandomWalk(seed).run(100);
}

TEST(Ledger, TakeRestTakesOnlyWhatIsStillFree) {
  Ledger ledger = two_nodes();
  ledger.take(task(0, {whole(0)}, 60, 500));
  const TaskAlloc rest = ledger.take_rest(task(0, {whole(0), whole(1)}, 8, 100));
  ASSERT_EQ(rest.devices.size(), 1u);
  EXPECT_EQ(rest.devices[0], whole(1));
  EXPECT_EQ(rest.cpus, 4);
  EXPECT_EQ(rest.memory, 12);
  EXPECT_EQ(ledger.node(0).free.cpus, 0);
  ledger.give(rest);
  ledger.give(task(0, {whole(0)}, 60, 500));
  EXPECT_EQ(ledger, two_nodes());
}

// What a victim still holds may not go to a third job while it leaves, also where its claimant
// uses the device in another way.
TEST(Ledger, TheRestOfAWholeDeviceThatIsClaimedInPartIsTaken) {
  Ledger ledger = two_nodes();
  ledger.take(task(0, {part(0, 400, 30)}));
  const TaskAlloc rest = ledger.take_rest(task(0, {whole(0)}));
  EXPECT_EQ(ledger.node(0).devices[0].milli_free, 0);
  EXPECT_EQ(ledger.node(0).devices[0].memory_free, 0);
  ledger.give(rest);
  EXPECT_EQ(ledger.node(0).devices[0].milli_free, 600);
  EXPECT_EQ(ledger.node(0).devices[0].memory_free, 50);
}

TEST(Ledger, TheRestOfAnInstanceThatIsClaimedInPartIsTaken) {
  Ledger ledger = two_nodes();
  ledger.take(task(1, {instance(2, 5, 1)}));
  const TaskAlloc rest = ledger.take_rest(task(1, {instance(2, 4, 4)}));
  EXPECT_EQ(ledger.node(1).devices[2].mig_used, 0xf0);
  ledger.give(rest);
  EXPECT_EQ(ledger.node(1).devices[2].mig_used, 0x20);
  ledger.give(task(1, {instance(2, 5, 1)}));
  EXPECT_EQ(ledger, two_nodes());
}

TEST(Ledger, TheRestOfSlicesThatAreClaimedAsAFractionIsTaken) {
  Ledger ledger = two_nodes();
  ledger.take(task(1, {part(0, 250, 10)}));
  const TaskAlloc rest = ledger.take_rest(task(1, {slots(0, 2)}));
  EXPECT_EQ(ledger.node(1).devices[0].milli_free, 0);
  ledger.give(rest);
  ledger.give(task(1, {part(0, 250, 10)}));
  EXPECT_EQ(ledger, two_nodes());
}

TEST(Ledger, AClosedNodeAndADeviceThatIsOutDoNotCountAsFree) {
  Ledger ledger = two_nodes();
  ledger.set_out(0, 1, kUnhealthy);
  EXPECT_EQ(ledger.milli_free_open(), 7000);
  EXPECT_EQ(ledger.node(0).free.whole, 3);
  ledger.set_open(0, false);
  EXPECT_EQ(ledger.milli_free_open(), 4000);
  ledger.take(task(0, {whole(0)}));
  EXPECT_EQ(ledger.milli_free_open(), 4000);
  ledger.set_out(0, 1, 0);
  ledger.set_open(0, true);
  EXPECT_EQ(ledger.milli_free_open(), 7000);
  ledger.give(task(0, {whole(0)}));
  EXPECT_EQ(ledger, two_nodes());
}

TEST(Ledger, JobsWithoutDevicesLeaveTheReservedCpusAlone) {
  Ledger ledger;
  ledger.add_node(node_of({device(), device()}));
  ledger.set_reserved(0, 16);
  EXPECT_EQ(ledger.node(0).free.cpus_for_cpu_jobs, 48);
  ledger.take(task(0, {}, 40));
  EXPECT_EQ(ledger.node(0).free.cpus_for_cpu_jobs, 8);
  EXPECT_EQ(ledger.node(0).free.cpus, 24);
  ledger.take(task(0, {whole(0)}, 20));
  EXPECT_EQ(ledger.node(0).free.cpus_for_cpu_jobs, 8);
  EXPECT_EQ(ledger.node(0).free.cpus, 4);
}

}  // namespace
}  // namespace rota::engine
