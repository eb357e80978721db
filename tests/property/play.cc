#include "tests/property/play.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "tests/tally.h"

namespace rota::property {

namespace {

using testing_tally::tally;

constexpr int kRoundsMax = 500;
std::uint64_t all_moves = 0;

class Play {
 public:
  Play(const Script& script, const Twist& twist)
      : script_(script), twist_(twist), names_{twist.renamed}, stage_(stage_from(script, names_)),
        world_(stage_), happenings_(stage_, names_), watch_(engine_, stage_) {}

  Played run() {
    ++tally.worlds;
    set_stage();
    for (const Step& step : script_.steps) {
      if (twist_.save_and_load) reload();
      take(step);
      if (!watch_.broken().empty()) break;
    }
    if (watch_.broken().empty()) pass(Duration::hours(3));
    played_.broken = watch_.broken();
    played_.digest = engine_.digest();
    all_moves += played_.moves;
    return std::move(played_);
  }

 private:
  bool tell(const Event& event) {
    ++tally.events;
    const bool accepted = engine_.apply(now_, event).ok();
    if (const auto* end = std::get_if<AttemptEnded>(&event)) {
      if (told_to_leave_.erase(end->job) > 0) left_[end->job] = now_;
    }
    if (accepted) watch_.see(now_, event);
    return accepted;
  }
  void set_stage() {
    tell(PolicySet{stage_.policy});
    for (const QueueSpec& queue : stage_.queues) tell(QueueSet{queue});
    for (const UserSpec& user : stage_.users) tell(UserSet{user});
    for (const NodeSpec& node : stage_.nodes) tell(NodeReported{node});
  }
  void take(const Step& step) {
    Happening what = happenings_.read(step, engine_, world_, now_);
    for (const auto& [job, work] : what.work) world_.add_job(job, work);
    if (what.any_order && twist_.any_order) std::reverse(what.events.begin(), what.events.end());
    const bool compares = ++steps_ % 8 == 0;   // a digest costs more than most events
    for (const Event& event : what.events) {
      const std::uint64_t before = compares ? engine_.digest() : 0;
      if (!tell(event) && compares && engine_.digest() != before) {
        watch_.fail(now_, "a refused event changed the state");
      }
    }
    if (what.lose_node) world_.lose_node(now_, *what.lose_node);
    if (what.finish) world_.finish(now_, what.finish->first, what.finish->second);
    settle();
    pass(what.pass);
  }
  void pass(Duration length) {
    const Instant end = now_ + length;
    while (now_ < end && watch_.broken().empty()) {
      Instant next = end;
      if (const auto due = world_.next_due()) next = std::min(next, *due);
      if (const auto due = engine_.next_wakeup()) next = std::min(next, *due);
      now_ = std::max(next, now_ + Duration(1));
      settle();
    }
  }
  void settle() {
    for (int round = 0;; ++round) {
      while (const auto fact = world_.take_due(now_)) {
        if (!tell(*fact)) watch_.fail(now_, "a fact was refused");
      }
      if (twist_.look) look();
      const engine::CycleResult cycle = engine_.run_cycle(now_);
      ++tally.cycles;
      for (const Decision& decision : cycle.decisions) carry_out(decision);
      const auto due = world_.next_due();
      if (!cycle.changed && (!due || *due > now_)) break;
      if (round == kRoundsMax) return watch_.fail(now_, "scheduling does not settle");
      if (!watch_.broken().empty()) return;
    }
    if (twist_.watched) watch_.settled(now_);
  }
  void carry_out(const Decision& decision) {
    played_.log.push_back(words(decision));
    watch_.see(now_, decision);
    if (const auto* d = std::get_if<StartAttempt>(&decision)) {
      world_.start(now_, *d);
      if (const auto left = left_.find(d->job); left != left_.end() && left->second == now_) {
        ++played_.moves;
      }
    }
    if (const auto* d = std::get_if<StopAttempt>(&decision)) {
      world_.stop(now_, *d);
      if (d->cause == StopCause::kPreempted) told_to_leave_.insert(d->job);
    }
    if (const auto* d = std::get_if<StopTasks>(&decision)) world_.stop_tasks(now_, *d);
    if (const auto* d = std::get_if<GrowTasks>(&decision)) world_.grow(*d);
  }
  void reload() {
    const std::string saved = engine_.save();
    auto loaded = engine::Engine::load(saved);
    if (!loaded) return watch_.fail(now_, "a snapshot cannot be loaded");
    if (loaded->save() != saved) watch_.fail(now_, "a snapshot of a snapshot differs");
    engine_ = std::move(*loaded);
  }
  void look() {
    const std::uint64_t before = engine_.digest();
    for (const JobId id : engine_.jobs()) {
      (void)engine_.explain(id);
      (void)engine_.job(id, engine::Engine::Detail::kHistory);
    }
    for (const std::string& name : engine_.queue_names()) (void)engine_.queue(name);
    for (const std::string& name : engine_.user_names()) (void)engine_.user(name);
    for (const std::string& name : engine_.node_names()) (void)engine_.node(name);
    (void)engine_.cluster();
    (void)engine_.next_wakeup();
    JobSpec spec;
    spec.queue = names_.queue(stage_.leaves.front());
    (void)engine_.preview(now_, spec);
    if (engine_.digest() != before) watch_.fail(now_, "looking changes the state");
  }
  [[nodiscard]] std::string words(const Allocation& allocation) const {
    std::string out;
    for (const TaskPlace& place : allocation.tasks) {
      out += " " + std::to_string(place.task) + "@n" +
             std::to_string(names_.node_number(place.node)) + ":";
      for (const DeviceShare& share : place.devices) {
        out += std::to_string(share.device) + "/" + std::to_string(share.gpus.value()) + "/" +
               std::to_string(share.mig_start) + ",";
      }
    }
    return out;
  }
  [[nodiscard]] std::string words(const Decision& decision) const {
    std::string out = format_duration(now_ - Instant()) + " ";
    const auto job = [](JobId id) { return "J" + std::to_string(id.value()); };
    if (const auto* d = std::get_if<StartAttempt>(&decision)) {
      out += "start " + job(d->job) + "#" + std::to_string(d->attempt) + words(d->allocation);
    } else if (const auto* d = std::get_if<StopAttempt>(&decision)) {
      out += "stop " + job(d->job) + " " + std::string(name_of(d->cause)) + " by " + job(d->by);
    } else if (const auto* d = std::get_if<StopTasks>(&decision)) {
      out += "shrink " + job(d->job) + " by " + job(d->by);
      for (const std::int64_t task : d->tasks) out += " " + std::to_string(task);
    } else if (const auto* d = std::get_if<GrowTasks>(&decision)) {
      out += "grow " + job(d->job) + words(d->added);
    } else if (const auto* d = std::get_if<JobChanged>(&decision)) {
      out += "job " + job(d->job) + " " + std::string(name_of(d->state)) + " " + d->cause;
    } else if (const auto* d = std::get_if<NodeChanged>(&decision)) {
      out += "node " + std::to_string(names_.node_number(d->node)) + " " +
             std::string(name_of(d->state));
    } else if (const auto* d = std::get_if<SessionWarned>(&decision)) {
      out += "warn " + job(d->job);
    }
    return out;
  }

  const Script& script_;
  Twist twist_;
  Names names_;
  Stage stage_;
  engine::Engine engine_;
  BackendWorld world_;
  Happenings happenings_;
  Watch watch_;
  Instant now_;
  std::uint64_t steps_ = 0;
  std::set<JobId> told_to_leave_;    // for another job, and still there
  std::map<JobId, Instant> left_;    // when those last did
  Played played_;
};

}  // namespace

Played play(const Script& script, const Twist& twist) { return Play(script, twist).run(); }

std::string difference(const Played& a, const Played& b) {
  const std::size_t length = std::min(a.log.size(), b.log.size());
  for (std::size_t i = 0; i < length; ++i) {
    if (a.log[i] != b.log[i]) return "one decides: " + a.log[i] + "\nthe other: " + b.log[i];
  }
  if (a.log.size() > length) return "only one decides: " + a.log[length];
  if (b.log.size() > length) return "only the other decides: " + b.log[length];
  return {};
}

std::uint64_t moves_played() { return all_moves; }

}  // namespace rota::property
