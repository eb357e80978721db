#include "engine/future.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace rota::engine {
namespace {

/// Jobs of whole GPUs on four nodes of four that come, go and change their mind.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    for (int n = 0; n < 4; ++n) {
      NodeCap node;
      node.devices.resize(4);
      present_.add_node(std::move(node));
    }
    future_.start(present_, Instant(0));
  }

  void step() {
    switch (random_.below(5)) {
      case 0:
      case 1: start_job(); break;
      case 2: end_job(); break;
      case 3: change_mind(); break;
      default: future_.move_to(some_instant()); break;
    }
  }

  /// What the future must be, from the present alone.
  [[nodiscard]] Ledger slow() const {
    Ledger out = present_;
    for (const auto& [id, job] : jobs_) {
      const Leaves& leaves = job->expected;
      if (leaves.held && *leaves.held <= future_.at()) out.give(job->held);
      if (leaves.leaving && *leaves.leaving <= future_.at()) out.give(job->leaving);
    }
    return out;
  }
  [[nodiscard]] std::optional<Instant> slow_next(Instant from) const {
    std::optional<Instant> next;
    for (const auto& [id, job] : jobs_) {
      for (const auto& at : {job->expected.held, job->expected.leaving}) {
        if (at && *at >= from && (!next || *at < *next)) next = at;
      }
    }
    return next;
  }
  [[nodiscard]] const Future& future() const { return future_; }
  [[nodiscard]] const Ledger& present() const { return present_; }
  Instant some_instant() { return Instant(random_.between(0, 20)); }

 private:
  Leaves some_leaves(const JobRec& job) {
    Leaves out;
    if (random_.chance(4, 5)) out.held = some_instant();
    if (!job.leaving.empty()) out.leaving = some_instant();
    return out;
  }
  void start_job() {
    auto job = std::make_unique<JobRec>();
    job->id = JobId(++last_);
    for (Tasks* part : {&job->held, &job->leaving}) {
      const auto node = static_cast<std::int32_t>(random_.below(4));
      if (part == &job->leaving && random_.chance(1, 2)) continue;
      TaskAlloc task;
      task.node = node;
      for (std::int32_t d = 0; d < 4 && random_.chance(2, 3); ++d) {
        const NodeCap& cap = present_.node(node);
        if (!cap.devices[d].whole_free() || (part == &job->leaving && d < 2)) continue;
        if (part == &job->leaving && uses(job->held, node, d)) continue;
        DeviceShare share;
        share.device = d;
        share.gpus = kWholeGpu;
        task.devices.push_back(share);
      }
      part->push_back(task);
    }
    present_.take(job->held);
    present_.take(job->leaving);
    future_.join(*job, some_leaves(*job));
    future_.follow(present_);
    jobs_[job->id] = std::move(job);
  }
  static bool uses(const Tasks& tasks, std::int32_t node, std::int32_t device) {
    for (const TaskAlloc& task : tasks) {
      for (const DeviceShare& share : task.devices) {
        if (task.node == node && share.device == device) return true;
      }
    }
    return false;
  }
  void end_job() {
    if (jobs_.empty()) return;
    auto job = std::next(jobs_.begin(), static_cast<std::ptrdiff_t>(random_.below(jobs_.size())));
    present_.give(job->second->held);
    present_.give(job->second->leaving);
    future_.part(*job->second);
    future_.follow(present_);
    jobs_.erase(job);
  }
  void change_mind() {
    if (jobs_.empty()) return;
    auto job = std::next(jobs_.begin(), static_cast<std::ptrdiff_t>(random_.below(jobs_.size())));
    future_.expect(*job->second, some_leaves(*job->second));
  }

  Random random_;
  Ledger present_;
  Future future_;
  std::map<JobId, std::unique_ptr<JobRec>> jobs_;
  std::uint64_t last_ = 0;
};

TEST(Future, IsThePresentWithoutThoseWhoLeave) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    World world(seed);
    for (int step = 0; step < 100; ++step) {
      world.step();
      ASSERT_TRUE(world.future().follows(world.present()));
      ASSERT_TRUE(world.slow() == world.future().ledger()) << "seed " << seed << " step " << step;
      const Instant from = world.some_instant();
      ASSERT_EQ(world.slow_next(from), world.future().next_leave(from, Future::Late::kSkip));
    }
  }
}

TEST(Future, FollowsOnlyWhatItWasTold) {
  Ledger present;
  NodeCap node;
  node.devices.resize(1);
  present.add_node(std::move(node));
  Future future;
  EXPECT_FALSE(future.follows(present));
  future.start(present, Instant(5));
  EXPECT_TRUE(future.follows(present));
  const Ledger::Mark mark = present.checkpoint();
  TaskAlloc task;
  task.cpus = 1;
  present.take(task);
  EXPECT_FALSE(future.follows(present));
  present.rollback(mark);
  EXPECT_TRUE(future.follows(present));
  present.set_open(0, false);
  EXPECT_FALSE(future.follows(present));
}

TEST(Future, SomebodyLateLeavesNow) {
  Ledger present;
  NodeCap node;
  node.devices.resize(1);
  present.add_node(std::move(node));
  Future future;
  future.start(present, Instant(5));
  JobRec job;
  job.id = JobId(1);
  future.join(job, {Instant(3), std::nullopt});
  EXPECT_EQ(future.next_leave(Instant(5), Future::Late::kCountAsNow), Instant(5));
  EXPECT_EQ(future.next_leave(Instant(5), Future::Late::kSkip), std::nullopt);
  EXPECT_TRUE(future.expect(job, {Instant(2), std::nullopt}));
  EXPECT_FALSE(future.expect(job, {Instant(9), std::nullopt}));
  EXPECT_EQ(future.next_leave(Instant(5), Future::Late::kCountAsNow), Instant(9));
}

}  // namespace
}  // namespace rota::engine
