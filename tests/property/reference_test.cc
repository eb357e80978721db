// The engine beside the reference scheduler, start by start.
#include "tests/property/reference.h"

#include <gtest/gtest.h>

#include <iostream>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include "engine/engine.h"
#include "tests/property/check_property.h"
#include "tests/tally.h"

namespace rota::property {
namespace {

using testing_tally::tally;

struct Case {
  std::vector<std::int64_t> nodes;
  std::vector<RefQueue> queues;
  RefOrder order = RefOrder::kFair;
  RefBackfill backfill = RefBackfill::kEasy;
  struct Arrival {
    RefJob job;
    std::int64_t runs = 1;   // until its limit at the latest
  };
  std::vector<Arrival> arrivals;   // by submit time
};

std::string words(const std::vector<RefStart>& starts) {
  std::ostringstream out;
  for (const RefStart& start : starts) {
    out << " J" << start.id;
    for (const RefTask& task : start.tasks) {
      out << " n" << task.node << ":";
      for (const std::size_t device : task.devices) out << device << ",";
    }
  }
  return out.str();
}

/// Plays a case on both.
class Pair {
 public:
  explicit Pair(const Case& c)
      : case_(c), reference_(c.nodes, c.queues, c.order, c.backfill) {}

  /// What differs first, in words; empty: nothing.
  std::string run() {
    ++tally.worlds;
    set_stage();
    std::size_t next = 0;
    while (next < case_.arrivals.size() || !ends_.empty()) {
      now_ = next < case_.arrivals.size() ? case_.arrivals[next].job.submitted
                                          : ends_.begin()->first;
      if (!ends_.empty()) now_ = std::min(now_, ends_.begin()->first);
      end_due();
      for (; next < case_.arrivals.size() && case_.arrivals[next].job.submitted == now_; ++next) {
        submit(case_.arrivals[next]);
      }
      const std::vector<RefStart> expected = run_reference();
      const std::vector<RefStart> actual = run_engine();
      if (!wrong_.empty()) return wrong_;
      if (expected != actual) {
        return "at " + std::to_string(now_) + " the reference starts" + words(expected) +
               ", the engine" + words(actual);
      }
      for (const RefStart& start : actual) {
        const auto& job = *jobs_.at(start.id);
        const std::int64_t runs = job.job.limit ? std::min(job.runs, *job.job.limit) : job.runs;
        ends_.insert({now_ + runs, start.id});
      }
    }
    return {};
  }

 private:
  [[nodiscard]] Instant at() const { return Instant() + Duration::minutes(now_); }
  void tell(const Event& event) {
    ++tally.events;
    if (!engine_.apply(at(), event)) wrong_ = "the engine refuses an event";
  }
  void set_stage() {
    Policy policy;
    constexpr std::array<Order, 3> kOrders{Order::kFair, Order::kPriority, Order::kFifo};
    constexpr std::array<Backfill, 3> kBackfills{Backfill::kEasy, Backfill::kGreedy,
                                                 Backfill::kOff};
    policy.order = kOrders[static_cast<std::size_t>(case_.order)];
    policy.backfill = kBackfills[static_cast<std::size_t>(case_.backfill)];
    tell(PolicySet{policy});
    for (std::size_t q = 0; q < case_.queues.size(); ++q) {
      QueueSpec spec{.name = "q" + std::to_string(q), .weight = case_.queues[q].weight};
      if (case_.queues[q].quota > 0) spec.quota = whole_gpus(case_.queues[q].quota);
      if (case_.queues[q].limit) spec.limit = whole_gpus(*case_.queues[q].limit);
      tell(QueueSet{spec});
    }
    for (std::size_t n = 0; n < case_.nodes.size(); ++n) {
      NodeSpec node;
      node.name = std::to_string(n);
      node.devices.resize(static_cast<std::size_t>(case_.nodes[n]));
      tell(NodeReported{node});
    }
  }
  void submit(const Case::Arrival& arrival) {
    const RefJob& job = arrival.job;
    jobs_[job.id] = &arrival;
    reference_.submit(job);
    JobSpec spec;
    spec.queue = "q" + std::to_string(job.queue);
    spec.priority = job.priority;
    spec.shape.task.gpus = whole_gpus(job.gpus);
    spec.shape.tasks = job.tasks;
    if (job.limit) spec.time_limit = Duration::minutes(*job.limit);
    tell(JobSubmitted{JobId(job.id), spec});
  }
  void end_due() {
    while (!ends_.empty() && ends_.begin()->first <= now_) {
      const std::uint64_t id = ends_.begin()->second;
      ends_.erase(ends_.begin());
      reference_.finish(id);
      AttemptEnded fact;
      fact.job = JobId(id);
      fact.attempt = 1;
      tell(fact);
    }
  }
  /// Like the engine's, until nothing more starts: each start may put another job first in line.
  std::vector<RefStart> run_reference() {
    std::vector<RefStart> starts;
    while (true) {
      const std::vector<RefStart> more = reference_.schedule(now_);
      if (more.empty()) return starts;
      starts.insert(starts.end(), more.begin(), more.end());
    }
  }
  std::vector<RefStart> run_engine() {
    std::vector<RefStart> starts;
    for (int round = 0; round < 20; ++round) {
      const engine::CycleResult cycle = engine_.run_cycle(at());
      ++tally.cycles;
      for (const Decision& decision : cycle.decisions) {
        const auto* start = std::get_if<StartAttempt>(&decision);
        if (start == nullptr) continue;
        starts.push_back(start_of(*start));
        tell(AttemptStarted{start->job, start->attempt});
      }
      if (!cycle.changed) break;
    }
    for (const std::string& text : engine_.check_invariants()) wrong_ = text;
    return starts;
  }
  static RefStart start_of(const StartAttempt& order) {
    RefStart start{order.job.value(), {}};
    for (const TaskPlace& place : order.allocation.tasks) {
      RefTask task{std::stoul(place.node), {}};
      for (const DeviceShare& share : place.devices) {
        task.devices.push_back(static_cast<std::size_t>(share.device));
      }
      start.tasks.push_back(task);
    }
    return start;
  }

  const Case& case_;
  Reference reference_;
  engine::Engine engine_;
  std::int64_t now_ = 0;
  std::map<std::uint64_t, const Case::Arrival*> jobs_;
  std::set<std::pair<std::int64_t, std::uint64_t>> ends_;
  std::string wrong_;
};

Case case_from(const Script& script) {
  Case out;
  Numbers numbers(script.stage.data(), script.stage.size());
  out.nodes.resize(1 + numbers.below(4));
  for (std::int64_t& gpus : out.nodes) gpus = 1 + numbers.below(6);
  out.queues.resize(1 + numbers.below(4));
  for (RefQueue& queue : out.queues) {
    queue.weight = (numbers.below(4) + 1) % 4;
    Digits digits(numbers.take());
    if (digits.rarely(3)) queue.quota = 1 + digits.below(4);
    if (digits.rarely(4)) queue.limit = 1 + digits.below(8);
  }
  out.order = static_cast<RefOrder>(numbers.below(3));
  out.backfill = static_cast<RefBackfill>(numbers.below(3));
  std::int64_t now = 0;
  for (const Step& step : script.steps) {
    Case::Arrival arrival;
    RefJob& job = arrival.job;
    now += step.kind % 3 == 0 ? 0 : step.kind % 17;
    job.id = out.arrivals.size() + 1;
    job.submitted = now;
    job.queue = step.n[0] % out.queues.size();
    job.priority = step.n[1] % 3;
    job.gpus = 1 + step.n[2] % 4;
    job.tasks = step.n[3] % 2 == 0 ? 1 : 1 + step.n[3] % 5;
    if (step.n[4] % 5 != 4) job.limit = 5 + step.n[4] % 40;
    arrival.runs = step.n[5] % 3 == 0 && job.limit ? *job.limit : 1 + step.n[5] % 30;
    out.arrivals.push_back(arrival);
  }
  return out;
}

TEST(Reference, AgreesOnRandomRuns) {
  check_property("engine and reference", {.cases = 600, .steps = 60}, [](const Script& script) {
    const Case c = case_from(script);
    return Pair(c).run();
  });
}

TEST(Reference, AgreesOnLongRuns) {
  check_property("engine and reference, long", {.cases = 25, .steps = 300},
                 [](const Script& script) {
                   const Case c = case_from(script);
                   return Pair(c).run();
                 });
}

/// Every choice of jobs from the kinds, on every cluster, under every policy.
class Exhaustion {
 public:
  void run(std::size_t jobs, const std::vector<RefJob>& kinds) {
    const std::vector<std::vector<std::int64_t>> clusters{{2}, {1, 2}, {2, 2}, {3, 1, 2}};
    for (const auto& nodes : clusters) {
      for (const RefOrder order : {RefOrder::kFair, RefOrder::kFifo}) {
        for (const RefBackfill backfill :
             {RefBackfill::kEasy, RefBackfill::kGreedy, RefBackfill::kOff}) {
          Case c;
          c.nodes = nodes;
          c.queues = {{.weight = 1}, {.weight = 2}};
          c.order = order;
          c.backfill = backfill;
          extend(c, jobs, kinds);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
  [[nodiscard]] std::int64_t cases() const { return cases_; }

 private:
  void extend(Case& c, std::size_t left, const std::vector<RefJob>& kinds) {
    if (left == 0) {
      ++cases_;
      const std::string wrong = Pair(c).run();
      if (!wrong.empty()) ADD_FAILURE() << wrong << "\n" << shown(c);
      return;
    }
    for (const RefJob& kind : kinds) {
      if (testing::Test::HasFailure()) return;
      Case::Arrival arrival{kind, kind.limit.value_or(15)};
      arrival.job.id = c.arrivals.size() + 1;
      arrival.job.queue = c.arrivals.size() % 2;
      arrival.job.submitted = static_cast<std::int64_t>(c.arrivals.size() / 2) * 5;
      c.arrivals.push_back(arrival);
      extend(c, left - 1, kinds);
      c.arrivals.pop_back();
    }
  }
  static std::string shown(const Case& c) {
    std::ostringstream out;
    out << "order " << static_cast<int>(c.order) << " backfill " << static_cast<int>(c.backfill)
        << " nodes";
    for (const std::int64_t gpus : c.nodes) out << " " << gpus;
    for (const auto& arrival : c.arrivals) {
      const RefJob& job = arrival.job;
      out << "\nJ" << job.id << " at " << job.submitted << " q" << job.queue << " " << job.tasks
          << "x" << job.gpus << " limit " << job.limit.value_or(-1);
    }
    return out.str();
  }
  std::int64_t cases_ = 0;
};

TEST(Reference, AgreesOnEverySmallCase) {
  Exhaustion all;
  const std::optional<std::int64_t> none;
  all.run(3, {{.gpus = 1, .limit = 10}, {.gpus = 2, .limit = 10}, {.gpus = 1, .limit = 25},
              {.gpus = 2, .limit = 25}, {.gpus = 1, .limit = none}, {.tasks = 2, .limit = 10},
              {.tasks = 2, .limit = 25}, {.tasks = 3, .limit = 10}});
  all.run(4, {{.gpus = 1, .limit = 10}, {.gpus = 2, .limit = 25}, {.gpus = 1, .limit = none},
              {.tasks = 2, .limit = 10}});
  std::cout << all.cases() << " cases\n";
}

}  // namespace
}  // namespace rota::property
