// Claims and reservations on random clusters beside a plain reading of the rules: every candidate
// looked at for every victim, every instant for every reservation, and nothing kept between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/random.h"
#include "engine/core.h"

namespace rota::engine {
namespace {

/// Something that might be taken.
struct Prey {
  const JobRec* job = nullptr;
  std::int64_t part = -1;  // place of a surplus task; -1: the whole job
  Int128 lost = 0;
};

/// The rule book's search for one claim.
class PlainSearch {
 public:
  PlainSearch(Core& core, const JobRec& claimant, const Ledger& on, Instant at)
      : core_(core), claimant_(claimant), on_(on), at_(at),
        need_(claimant.task_milli * claimant.tasks_min()) {}

  std::optional<Claim> find() {
    if (core_.shares_stale) core_.divide_shares();
    gather();
    std::vector<Prey> left = all_;
    bool fits = place().has_value();
    while (!fits && take_first(left)) fits = place().has_value();
    std::optional<Claim> claim;
    if (fits) {
      for (std::size_t i = taken_.size(); i-- > 0;) spare(i);
      claim = Claim{victims(), *place(), {}};
    }
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (!spared_[i]) hold(i, 1);
    }
    return claim;
  }

 private:
  [[nodiscard]] bool useful(const TaskAlloc& task) const {
    return core_.request(claimant_).node_set.contains(task.node) &&
           core_.ledger.node(task.node).open;
  }
  [[nodiscard]] bool gone_by_itself(const JobRec& job) const {
    const auto end = core_.leaves(job);
    return at_ > core_.state.now && end && *end <= at_;
  }
  void gather() {
    for (const JobId id : core_.active) {
      const JobRec& job = core_.job(id);
      const bool there = job.phase == Phase::kRunning || job.phase == Phase::kStarting;
      if (!there || job.stop_ordered || !core_.lawful(claimant_, job)) continue;
      if (gone_by_itself(job) || !core_.within_share(claimant_, job, need_)) continue;
      for (std::int64_t i = job.tasks_min(); i < std::ssize(job.held); ++i) {
        if (job.shape.min_tasks > 0 && useful(job.held[static_cast<std::size_t>(i)])) {
          all_.push_back({&job, i, 0});
        }
      }
      if (!job.spec.min_runtime) continue;
      const Instant over = job.contract_ends().value_or(
          job.attempt_started() ? at_ : later(core_.state.now, *job.spec.min_runtime));
      if (over > at_ || std::none_of(job.held.begin(), job.held.end(),
                                     [this](const TaskAlloc& t) { return useful(t); })) {
        continue;
      }
      std::int64_t work = job.attempt_started() ? (at_ - *job.attempt_started()).ns() : 0;
      if (job.spec.checkpoint) work %= job.spec.checkpoint->ns();
      all_.push_back({&job, -1, static_cast<Int128>(work) * milli_of(job.held)});
    }
  }
  [[nodiscard]] bool before(const Prey& a, const Prey& b) const {
    const JobRec& x = *a.job;
    const JobRec& y = *b.job;
    if ((a.part < 0) != (b.part < 0)) return a.part >= 0;
    if (x.spec.charge != y.spec.charge) return !x.spec.charge;
    const auto excess = core_.owners.excess(x.queue, y.queue);
    if (excess != 0) return excess > 0;
    if (x.spec.priority != y.spec.priority) return x.spec.priority < y.spec.priority;
    if (a.lost != b.lost) return a.lost < b.lost;
    const auto from = x.attempt_started();
    if (from != y.attempt_started()) return from > y.attempt_started();
    return x.id != y.id ? x.id > y.id : a.part > b.part;
  }
  bool take_first(std::vector<Prey>& left) {
    auto best = left.end();
    for (auto prey = left.begin(); prey != left.end(); ++prey) {
      if (!core_.within_share(claimant_, *prey->job, need_)) continue;
      if (best == left.end() || before(*prey, *best)) best = prey;
    }
    if (best == left.end()) return false;
    taken_.push_back(*best);
    spared_.push_back(false);
    left.erase(best);
    Tasks tasks;
    for (std::int64_t i = 0; i < std::ssize(taken_.back().job->held); ++i) {
      if (is_first_to_free(i)) {
        tasks.push_back(taken_.back().job->held[static_cast<std::size_t>(i)]);
      }
    }
    freed_.push_back(std::move(tasks));
    hold(taken_.size() - 1, -1);
    return true;
  }
  /// Of the task at that place of the job taken last: whether no part taken before was it.
  [[nodiscard]] bool is_first_to_free(std::int64_t place) const {
    const Prey& last = taken_.back();
    if (last.part >= 0) return last.part == place;
    return std::none_of(taken_.begin(), taken_.end(), [&](const Prey& other) {
      return other.job == last.job && other.part == place;
    });
  }
  void hold(std::size_t i, std::int64_t sign) {
    const JobRec& job = *taken_[i].job;
    const std::int64_t milli = sign * milli_of(freed_[i]);
    core_.owners.hold(job.queue, milli, job.spec.charge);
    if (job.user != kNone) core_.state.users[job.user].held += milli;
  }
  [[nodiscard]] std::optional<Tasks> place() {
    if (core_.room_in_limits(claimant_, claimant_.tasks_min()) < claimant_.tasks_min()) {
      return std::nullopt;
    }
    Ledger then = on_;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (!spared_[i]) then.give(freed_[i]);
    }
    return core_.placer.place(then, core_.request(claimant_), claimant_.tasks_min());
  }
  void spare(std::size_t index) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (!spared_[i]) hold(i, 1);
    }
    spared_[index] = true;
    bool ok = true;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (spared_[i]) continue;
      ok = ok && core_.within_share(claimant_, *taken_[i].job, need_);
      hold(i, -1);
    }
    if (ok && place()) return;
    spared_[index] = false;
    hold(index, -1);
  }
  [[nodiscard]] std::vector<Victim> victims() const {
    std::vector<Victim> out;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      const JobRec* job = taken_[i].job;
      if (spared_[i]) continue;
      bool named = taken_[i].part < 0;
      for (std::size_t k = 0; k < taken_.size(); ++k) {
        named = named || (!spared_[k] && taken_[k].job == job && taken_[k].part < 0);
      }
      if (taken_[i].part < 0) {
        out.push_back({job->id, job->held, true, milli_of(job->held)});
      } else if (!named) {
        out.push_back({job->id, freed_[i], false, milli_of(freed_[i])});
      }
    }
    return out;
  }

  Core& core_;
  const JobRec& claimant_;
  const Ledger& on_;
  Instant at_;
  std::int64_t need_;
  std::vector<Prey> all_;
  std::vector<Prey> taken_;
  std::vector<bool> spared_;
  std::vector<Tasks> freed_;
};

/// The reservation as the rule book has it: instant after instant.
std::optional<std::pair<Instant, Tasks>> plain_reservation(Core& core, const JobRec& job) {
  std::set<Instant> instants;
  std::vector<std::pair<Instant, Tasks>> leaves;
  for (const JobId id : core.active) {
    const JobRec& other = core.job(id);
    const Leaves parts = core.leaves_in_parts(other);
    if (parts.held) leaves.emplace_back(*parts.held, other.held);
    if (parts.leaving) leaves.emplace_back(*parts.leaving, other.leaving);
    if (!other.spec.min_runtime || other.stop_ordered || !core.lawful(job, other)) continue;
    const Instant over =
        other.contract_ends().value_or(later(core.state.now, *other.spec.min_runtime));
    if (over > core.state.now) instants.insert(over);
  }
  for (const auto& [at, tasks] : leaves) instants.insert(std::max(at, core.state.now));
  for (const Instant at : instants) {
    Ledger then = core.ledger;
    for (const auto& [gone, tasks] : leaves) {
      if (gone <= at) then.give(tasks);
    }
    if (auto tasks = core.placer.place(then, core.request(job), job.tasks_min())) {
      return std::pair{at, *tasks};
    }
    if (!core.any_preemptible()) continue;
    if (auto claim = PlainSearch(core, job, then, at).find()) return std::pair{at, claim->tasks};
  }
  return std::nullopt;
}

/// A small cluster of queues, some below others, where jobs of all kinds come, go and are taken.
class Contest {
 public:
  explicit Contest(std::uint64_t seed) : random_(seed) {
    core_->state.queues.emplace_back();  // the root
    Policy policy;
    policy.order = random_.chance(1, 4) ? Order::kPriority : Order::kFair;
    policy.reclaim = random_.chance(1, 4) ? Reclaim::kQuota : Reclaim::kShare;
    policy.backfill = random_.chance(1, 2) ? Backfill::kEasy : Backfill::kGreedy;
    policy.placement = random_.chance(1, 4) ? Placement::kSpread : Placement::kPack;
    policy.grace = Duration::seconds(random_.chance(1, 2) ? 30 : 0);
    tell(PolicySet{policy});
    add_queue("a", "");
    add_queue("b", "");
    add_queue("c", random_.chance(1, 2) ? "a" : "");
    add_queue("d", random_.chance(1, 2) ? "a" : "b");
    add_queue("e", random_.chance(1, 2) ? "b" : "");
    const std::int64_t nodes = random_.between(2, 6);
    for (std::int64_t i = 0; i < nodes; ++i) {
      NodeSpec node;
      node.name = "n" + std::to_string(i);
      node.devices.resize(4);
      tell(NodeReported{node});
    }
  }

  void live(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ = now_ + Duration::seconds(random_.between(1, 90));
      let_go();
      const std::uint64_t roll = random_.below(10);
      if (roll < 7) {
        for (std::int64_t n = random_.between(1, 3); n > 0; --n) submit();
      } else if (roll < 9) {
        end_one();
      } else {
        drain_or_undrain();
      }
      compare();
      settle();
    }
  }
  [[nodiscard]] std::int64_t claims() const { return claims_; }
  [[nodiscard]] std::int64_t reservations() const { return reservations_; }

 private:
  void tell(const Event& event) { ASSERT_TRUE(core_->apply(now_, event).ok()); }
  void add_queue(const std::string& name, const std::string& parent) {
    QueueSpec queue{.name = name, .parent = parent, .weight = random_.between(0, 3)};
    if (random_.chance(1, 3)) queue.quota = whole_gpus(random_.between(1, 6));
    if (random_.chance(1, 5)) queue.limit = whole_gpus(random_.between(4, 12));
    tell(QueueSet{queue});
  }
  void submit() {
    JobSpec spec;
    const std::vector<std::string> queues = leaf_names();
    spec.queue = queues[random_.below(queues.size())];
    spec.priority = random_.between(0, 2);
    if (random_.chance(1, 3)) spec.user = random_.chance(1, 2) ? "u" : "v";
    spec.shape.task.gpus = whole_gpus(random_.between(1, 4));
    if (random_.chance(1, 8)) spec.shape.task.gpus = MilliGpu(random_.between(1, 9) * 100);
    if (random_.chance(1, 3)) spec.shape.tasks = random_.between(2, 4);
    if (spec.shape.tasks > 1 && random_.chance(1, 2)) {
      spec.shape.min_tasks = random_.between(1, spec.shape.tasks);
    }
    if (random_.chance(1, 6)) spec.shape.task.cpus = random_.between(1, 24);
    if (random_.chance(1, 6)) spec.shape.same = TopologyLevel::kNode;
    if (random_.chance(1, 8)) spec.shape.exclude.push_back("n0");
    if (random_.chance(9, 10)) spec.min_runtime = Duration::minutes(random_.between(0, 6));
    spec.charge = random_.chance(5, 6);
    if (random_.chance(1, 2)) spec.checkpoint = Duration::minutes(random_.between(1, 3));
    if (random_.chance(3, 4)) spec.time_limit = Duration::minutes(random_.between(2, 20));
    tell(JobSubmitted{JobId(++last_), spec});
  }
  [[nodiscard]] std::vector<std::string> leaf_names() const {
    std::vector<std::string> out;
    for (std::size_t q = 1; q < core_->state.queues.size(); ++q) {
      const QueueRec& queue = core_->state.queues[q];
      if (queue.children.empty()) out.push_back(queue.spec.name);
    }
    return out;
  }
  void drain_or_undrain() {
    NodeCommanded command;
    command.node = "n" + std::to_string(random_.below(core_->state.nodes.size()));
    const NodeRec& node = core_->state.nodes[core_->node_by_name.at(command.node)];
    command.verb = node.drain ? NodeVerb::kUndrain : NodeVerb::kDrain;
    tell(command);
  }
  void end_one() {
    std::vector<JobId> running;
    for (const JobId id : core_->active) {
      const JobRec& job = core_->job(id);
      if (job.phase == Phase::kRunning && job.leaving_alloc.empty()) running.push_back(id);
    }
    if (!running.empty()) finish(running[random_.below(running.size())], EndKind::kExited);
  }
  void finish(JobId id, EndKind kind) {
    AttemptEnded end;
    end.job = id;
    end.attempt = core_->job(id).attempts;
    end.kind = kind;
    tell(end);
  }
  void let_go() {
    for (const JobId id : std::set<JobId>(core_->active)) {
      const JobRec& job = core_->job(id);
      const bool due = job.leaves_at && *job.leaves_at <= now_;
      if (due && job.phase == Phase::kStopping) {
        finish(id, EndKind::kStopped);
      } else if (due && !job.leaving_alloc.empty()) {
        TasksEnded end{id, job.attempts, {}};
        for (const TaskAlloc& task : job.leaving_alloc) end.tasks.push_back(task.rank);
        tell(end);
      }
    }
  }
  void settle() {
    for (int round = 0; round < 30; ++round) {
      const CycleResult cycle = core_->run_cycle(now_);
      for (const Decision& decision : cycle.decisions) {
        const auto* start = std::get_if<StartAttempt>(&decision);
        // Some take a while to start.
        if (start == nullptr || random_.chance(1, 6)) continue;
        tell(AttemptStarted{start->job, start->attempt});
      }
      const auto broken = core_->check_invariants();
      ASSERT_TRUE(broken.empty()) << broken.front();
      if (!cycle.changed) break;
    }
  }

  void compare() {
    std::vector<Decision> limits_passed;
    core_->advance(now_, limits_passed);
    for (JobId id(1); id.value() <= last_; id = JobId(id.value() + 1)) {
      const JobRec* job = core_->state.jobs.find(id);
      if (job == nullptr || !job->pending() || job->gates != 0 || !job->spec.charge) continue;
      compare_claims(*job);
      if (!core_->placer.place(core_->ledger, core_->request(*job), job->tasks_min())) {
        compare_reservations(*job);
      }
    }
  }
  void compare_claims(const JobRec& job) {
    if (core_->placer.place(core_->ledger, core_->request(job), job.tasks_min())) return;
    const auto plain = PlainSearch(*core_, job, core_->ledger, now_).find();
    const auto found = core_->find_claim(job, core_->ledger, now_);
    ASSERT_EQ(found.has_value(), plain.has_value()) << "job " << job.id.value();
    if (!found) return;
    ++claims_;
    EXPECT_EQ(found->tasks, plain->tasks);
    ASSERT_EQ(found->victims.size(), plain->victims.size()) << "job " << job.id.value();
    for (std::size_t i = 0; i < plain->victims.size(); ++i) {
      EXPECT_EQ(found->victims[i].job, plain->victims[i].job) << "job " << job.id.value();
      EXPECT_EQ(found->victims[i].tasks, plain->victims[i].tasks);
      EXPECT_EQ(found->victims[i].whole, plain->victims[i].whole);
      EXPECT_EQ(found->victims[i].milli, plain->victims[i].milli);
    }
  }
  void compare_reservations(const JobRec& job) {
    core_->reservation.reset();
    const auto plain = plain_reservation(*core_, job);
    const auto found = core_->reserve(job);
    ASSERT_EQ(found.has_value(), plain.has_value()) << "job " << job.id.value();
    if (!found) return;
    ++reservations_;
    EXPECT_EQ(found->at, plain->first) << "job " << job.id.value();
    core_->reservation = found;
    EXPECT_EQ(core_->reserved_place(), plain->second) << "job " << job.id.value();
    core_->reservation.reset();
  }

  Random random_;
  std::unique_ptr<Core> core_ = std::make_unique<Core>();
  Instant now_;
  std::uint64_t last_ = 0;
  std::int64_t claims_ = 0;
  std::int64_t reservations_ = 0;
};

TEST(Claims, AreThoseOfThePlainRules) {
  std::int64_t claims = 0;
  std::int64_t reservations = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Contest contest(seed);
    contest.live(60);
    claims += contest.claims();
    reservations += contest.reservations();
  }
  EXPECT_GT(claims, 300);
  EXPECT_GT(reservations, 1000);
}

}  // namespace
}  // namespace rota::engine
