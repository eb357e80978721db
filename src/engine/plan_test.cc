#include "engine/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace rota::engine {
namespace {

Instant at(std::int64_t minutes) { return Instant() + Duration::minutes(minutes); }
Duration minutes(std::int64_t n) { return Duration::minutes(n); }

/// Nodes with whole GPUs and everything a placement needs.
class Site {
 public:
  explicit Site(const std::vector<std::int64_t>& gpus) : placer_(state_, topology_) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      NodeSpec spec;
      spec.name = "n" + std::to_string(i);
      spec.devices.resize(static_cast<std::size_t>(gpus[i]));
      NodeRec rec;
      rec.spec = spec;
      rec.devices.resize(spec.devices.size());
      ledger_.add_node(topology_.add(spec));
      state_.nodes.push_back(rec);
    }
  }
  const Request& request(std::int64_t gpus, std::int64_t tasks) {
    JobShape shape;
    shape.task.gpus = whole_gpus(gpus);
    shape.tasks = tasks;
    const ShapeIndex index = requests_.intern(shape);
    requests_.compile(index, state_, topology_, ledger_);
    return requests_.at(index);
  }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] const Placer& placer() const { return placer_; }
  [[nodiscard]] std::vector<std::int64_t> counts() const {
    std::vector<std::int64_t> out;
    for (const NodeCap& node : ledger_.nodes()) out.push_back(node.free.whole);
    return out;
  }

 private:
  State state_;
  Topology topology_;
  Ledger ledger_;
  RequestTable requests_;
  Placer placer_;
};

Tasks whole_devices(std::int32_t node, std::int32_t first, std::int32_t count) {
  TaskAlloc task;
  task.node = node;
  for (std::int32_t i = 0; i < count; ++i) {
    DeviceShare share;
    share.device = first + i;
    share.gpus = kWholeGpu;
    share.memory = gibibytes(80);
    task.devices.push_back(share);
  }
  return {task};
}

TEST(Timeline, AWindowShowsTheLeastThatIsFreeInIt) {
  Site site({4});
  Timeline timeline(site.ledger(), {{JobId(1), at(0), at(60), whole_devices(0, 0, 1)},
                                    {JobId(2), at(30), at(90), whole_devices(0, 1, 2)}});
  EXPECT_EQ(timeline.window(at(0), minutes(30)).node(0).free.whole, 3);
  EXPECT_EQ(timeline.window(at(0), minutes(31)).node(0).free.whole, 1);
  EXPECT_EQ(timeline.window(at(60), minutes(30)).node(0).free.whole, 2);
  EXPECT_EQ(timeline.window(at(90), std::nullopt).node(0).free.whole, 4);
  EXPECT_EQ(timeline.window(at(0), std::nullopt).node(0).free.whole, 1);
  EXPECT_EQ(timeline.window(at(0), std::nullopt).milli_free_open(), 1000);
}

TEST(Timeline, ADeviceUsedOneAfterTheOtherIsFreeForNobodyInBetween) {
  Site site({1});
  Timeline timeline(site.ledger(), {{JobId(1), at(0), at(10), whole_devices(0, 0, 1)},
                                    {JobId(2), at(10), at(20), whole_devices(0, 0, 1)}});
  const Request& one = site.request(1, 1);
  const auto slot = timeline.earliest(site.placer(), {one, 1, minutes(5), at(0)});
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->at, at(20));
}

TEST(Timeline, FindsTheGapThatIsLongEnough) {
  Site site({2});
  Timeline timeline(site.ledger(), {{JobId(1), at(0), at(10), whole_devices(0, 0, 2)},
                                    {JobId(2), at(30), at(40), whole_devices(0, 0, 2)}});
  const Request& two = site.request(2, 1);
  EXPECT_EQ(timeline.earliest(site.placer(), {two, 1, minutes(20), at(0)})->at, at(10));
  EXPECT_EQ(timeline.earliest(site.placer(), {two, 1, minutes(21), at(0)})->at, at(40));
  EXPECT_EQ(timeline.earliest(site.placer(), {two, 1, std::nullopt, at(0)})->at, at(40));
}

TEST(Timeline, NothingBehindAJobThatNeverEnds) {
  Site site({1});
  Timeline timeline(site.ledger(), {{JobId(1), at(0), std::nullopt, whole_devices(0, 0, 1)}});
  const Request& one = site.request(1, 1);
  EXPECT_FALSE(timeline.earliest(site.placer(), {one, 1, minutes(5), at(0)}));
}

TEST(CountTimeline, FindsTheSameGaps) {
  Site site({2});
  CountTimeline counts(site.counts());
  counts.take(0, at(0), at(10), 2);
  counts.take(0, at(30), at(40), 2);
  const Request& two = site.request(2, 1);
  EXPECT_EQ(counts.earliest({two, 1, minutes(20), at(0)})->at, at(10));
  EXPECT_EQ(counts.earliest({two, 1, minutes(21), at(0)})->at, at(40));
  EXPECT_EQ(counts.earliest({two, 1, std::nullopt, at(0)})->at, at(40));
  counts.trim(at(35));
  EXPECT_EQ(counts.earliest({two, 1, minutes(5), at(35)})->at, at(40));
}

/// Jobs planned one behind the other on both timelines: the exact one and the counted one.
class BothPlans {
 public:
  BothPlans(std::uint64_t seed, std::int64_t gpus_max)
      : random_(seed), gpus_(sizes(random_, gpus_max)), site_(gpus_), exact_(site_.ledger(), {}),
        counts_(site_.counts()) {}

  void run(int jobs) {
    for (int i = 1; i <= jobs && !testing::Test::HasFailure(); ++i) {
      plan(JobId(static_cast<std::uint64_t>(i)));
    }
  }

 private:
  struct Taken {
    NodeIndex node;
    std::int64_t count;
    Instant from;
    std::optional<Instant> to;
  };
  static std::vector<std::int64_t> sizes(Random& random, std::int64_t gpus_max) {
    std::vector<std::int64_t> out;
    const std::int64_t nodes = random.between(1, 4);
    for (std::int64_t i = 0; i < nodes; ++i) out.push_back(random.between(1, gpus_max));
    return out;
  }
  void plan(JobId id) {
    const std::int64_t tasks = random_.chance(1, 2) ? 1 : random_.between(2, 4);
    const std::int64_t most = *std::max_element(gpus_.begin(), gpus_.end());
    const Request& request = site_.request(random_.between(1, most), tasks);
    std::optional<Duration> length;
    if (!random_.chance(1, 12)) length = minutes(random_.between(1, 60));
    const PlanQuery query{request, tasks, length, at(random_.between(0, 20))};
    const auto slot = exact_.earliest(site_.placer(), query);
    const auto found = counts_.earliest(query);
    // Counts do not care which device of a node it is, so they never find less.
    if (slot) {
      ASSERT_TRUE(found) << id.value();
      ASSERT_LE(found->at, slot->at) << id.value();
    }
    if (most == 1) {
      ASSERT_EQ(slot.has_value(), found.has_value()) << id.value();
    }
    if (most == 1 && slot) {
      ASSERT_EQ(slot->at, found->at) << id.value();
    }
    if (found) check_found(*found, query);
    if (!slot) return;
    std::optional<Instant> end;
    if (length) end = slot->at + *length;
    for (const TaskAlloc& task : slot->tasks) {
      counts_.take(task.node, slot->at, end, std::ssize(task.devices));
      taken_.push_back({task.node, std::ssize(task.devices), slot->at, end});
    }
    exact_.add({id, slot->at, end, slot->tasks});
  }
  [[nodiscard]] std::int64_t free_on(NodeIndex node, Instant when) const {
    std::int64_t free = gpus_[static_cast<std::size_t>(node)];
    for (const Taken& taken : taken_) {
      const bool there =
          taken.node == node && taken.from <= when && (!taken.to || when < *taken.to);
      if (there) free -= taken.count;
    }
    return free;
  }
  /// The counted place has room for the whole job in every minute of it.
  void check_found(const CountTimeline::Found& found, const PlanQuery& query) {
    std::int64_t tasks = 0;
    for (const auto& [node, count] : found.tasks) {
      const std::int64_t need = count * query.request.whole;
      const Instant end = found.at + query.length.value_or(minutes(600));
      for (Instant when = found.at; when < end; when = when + minutes(1)) {
        ASSERT_GE(free_on(node, when), need);
      }
      tasks += count;
    }
    EXPECT_EQ(tasks, query.tasks);
  }

  Random random_;
  std::vector<std::int64_t> gpus_;
  Site site_;
  Timeline exact_;
  CountTimeline counts_;
  std::vector<Taken> taken_;
};

TEST(BothTimelines, AgreeOnNodesOfOneGpu) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) BothPlans(seed, 1).run(25);
}

TEST(BothTimelines, CountsNeverFindLessOnLargerNodes) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) BothPlans(seed, 6).run(25);
}

// Every instant is looked at: a slot may not be later than the first minute at which the job fits.
TEST(Timeline, TheSlotIsTheFirstThatThereIs) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    Site site({random.between(2, 5)});
    Timeline timeline(site.ledger(), {});
    for (std::uint64_t id = 1; id <= 8; ++id) {
      const Request& request = site.request(random.between(1, 2), 1);
      const PlanQuery query{request, 1, minutes(random.between(1, 30)), at(random.between(0, 30))};
      const auto slot = timeline.earliest(site.placer(), query);
      ASSERT_TRUE(slot);
      Instant first = query.from;
      while (true) {
        Ledger free = timeline.window(first, query.length);
        if (site.placer().place(free, request, 1)) break;
        first = first + minutes(1);
      }
      ASSERT_EQ(slot->at, first);
      timeline.add({JobId(id), slot->at, slot->at + *query.length, slot->tasks});
    }
  }
}

}  // namespace
}  // namespace rota::engine
