// Promises of reservations: what backfill starts never makes them later.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/engine.h"
#include "tests/property/check_property.h"
#include "tests/tally.h"

namespace rota::property {
namespace {

using testing_tally::tally;

/// Gangs of whole GPUs that run exactly to their limits, first come first served.
class FifoRun {
 public:
  FifoRun(const Script& script, Backfill backfill) : script_(script), backfill_(backfill) {
    Policy policy;
    policy.order = Order::kFifo;
    policy.backfill = backfill;
    tell(PolicySet{policy});
    tell(QueueSet{QueueSpec{.name = "default"}});
    Numbers numbers(script.stage.data(), script.stage.size());
    const std::uint32_t nodes = 1 + numbers.below(4);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      NodeSpec node;
      node.name = "n" + std::to_string(n);
      node.devices.resize(1 + numbers.below(6));
      tell(NodeReported{node});
    }
    // A fraction among the shapes makes the engine use its general plan instead of the counted one,
    // which pins devices, so that only the first reservation is sure to keep its time.
    general_ = backfill == Backfill::kEasy && numbers.below(2) == 1;
  }

  std::string run() {
    ++tally.worlds;
    std::uint64_t id = 0;
    for (const Step& step : script_.steps) {
      JobSpec spec;
      spec.shape.task.gpus = general_ && step.n[0] % 9 == 8 ? MilliGpu(500)
                                                            : whole_gpus(1 + step.n[0] % 3);
      spec.shape.tasks = step.n[1] % 2 == 0 ? 1 : 1 + step.n[1] % 4;
      spec.time_limit = Duration::minutes(1 + step.n[2] % 60);
      tell(JobSubmitted{JobId(++id), spec});
      cycle();
      pass(Duration::minutes(step.n[3] % 12));
      if (!wrong_.empty()) return wrong_;
    }
    pass(Duration::days(30));
    for (const JobId job : engine_.live_jobs()) {
      const auto verdict = engine_.explain(job);
      if (verdict->reasons.front().code != ReasonCode::kInfeasible) return "a job never starts";
    }
    return wrong_;
  }

 private:
  void tell(const Event& event) {
    ++tally.events;
    if (!engine_.apply(now_, event)) wrong_ = "the engine refuses an event";
  }
  void pass(Duration length) {
    const Instant end = now_ + length;
    while (!ends_.empty() && ends_.begin()->first <= end) {
      now_ = ends_.begin()->first;
      while (!ends_.empty() && ends_.begin()->first == now_) {
        AttemptEnded fact;
        fact.job = ends_.begin()->second;
        fact.attempt = 1;
        ends_.erase(ends_.begin());
        tell(fact);
      }
      cycle();
    }
    now_ = end;
  }
  void cycle() {
    for (int round = 0; round < 50; ++round) {
      const engine::CycleResult result = engine_.run_cycle(now_);
      ++tally.cycles;
      for (const Decision& decision : result.decisions) {
        if (const auto* start = std::get_if<StartAttempt>(&decision)) started(start->job);
      }
      if (!result.changed) break;
    }
    for (const std::string& text : engine_.check_invariants()) wrong_ = text;
    note_promises();
  }
  void started(JobId job) {
    tell(AttemptStarted{job, 1});
    const auto status = engine_.job(job);
    ends_.insert({now_ + *status->spec->time_limit, job});
    const auto promised = promised_.find(job);
    if (promised != promised_.end() && now_ > promised->second) {
      wrong_ = "J" + std::to_string(job.value()) + " starts later than it was promised";
    }
  }
  /// EASY promises the first blocked job only, conservative every one.
  void note_promises() {
    for (const JobId job : engine_.live_jobs()) {
      if (engine_.job(job)->state != JobState::kPending) continue;
      const auto at = engine_.estimate(job);
      const auto verdict = engine_.explain(job);
      if (verdict->reasons.front().code == ReasonCode::kInfeasible) continue;
      if (!at) {
        wrong_ = "J" + std::to_string(job.value()) + " has no expected start";
        return;
      }
      const auto [seen, fresh] = promised_.try_emplace(job, *at);
      if (!fresh && *at > seen->second) {
        wrong_ = "the reservation of J" + std::to_string(job.value()) + " moves later";
      }
      if (backfill_ == Backfill::kEasy) return;
    }
  }

  const Script& script_;
  Backfill backfill_;
  bool general_ = false;
  engine::Engine engine_;
  Instant now_;
  std::set<std::pair<Instant, JobId>> ends_;
  std::map<JobId, Instant> promised_;
  std::string wrong_;
};

TEST(Reservations, OfEasyNeverMoveLater) {
  check_property("easy", {.cases = 250, .steps = 40}, [](const Script& script) {
    return FifoRun(script, Backfill::kEasy).run();
  });
}

TEST(Reservations, OfConservativeNeverMoveLater) {
  check_property("conservative", {.cases = 250, .steps = 40}, [](const Script& script) {
    return FifoRun(script, Backfill::kConservative).run();
  });
}

}  // namespace
}  // namespace rota::property
