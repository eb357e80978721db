#include "world.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/digest.h"
#include "base/random.h"
#include "server/test_rig.h"
#include "tests/tally.h"

namespace rota::simulation {
namespace {

using namespace server;                 // NOLINT: a test
using namespace server::testing_rig;    // NOLINT

/// What a person asked for and was promised.
struct Asked {
  std::string key;
  Caller caller;
  api::SubmitRequest request;
  std::optional<std::string> id;  // acknowledged
};

class World {
 public:
  explicit World(const Plan& plan)
      : plan_(plan),
        random_(Random(plan.seed).child("workload")),
        faults_(Random(plan.seed).child("faults")),
        rig_(options(plan)) {
    rig_.check_snapshots = plan.check_snapshots;
    rig_.at = [this](const char*) {
      if (faulty() && faults_.chance(permille(plan_.crash), 1000)) throw SimulatedCrash();
    };
    rig_.fail_commit = [this] {
      if (!faulty()) return false;
      if (rig_.now() < disk_full_until_) return true;
      if (!faults_.chance(permille(plan_.commit_fails), 1000)) return false;
      ++failed_commits_;
      disk_full_until_ = rig_.now() + Duration::milliseconds(faults_.between(1, 3000));
      return true;
    };
  }

  Outcome run() {
    rig_.run_for(Duration::seconds(2));
    int submitted = 0;
    while (submitted < plan_.submits) {
      rig_.run_for(Duration::milliseconds(random_.between(0, 8000)));
      submitted += act();
    }
    drain();
    check();
    outcome_.crashes = rig_.crashes;
    outcome_.failed_commits = failed_commits_;
    outcome_.digest = digest_.value();
    count();
    return std::move(outcome_);
  }

 private:
  static RigOptions options(const Plan& plan) {
    RigOptions out;
    out.nodes = nodes(plan.nodes, plan.gpus);
    out.seed = plan.seed;
    out.config.snapshot_every = 60;
    out.config.reconcile_interval = Duration::seconds(20);
    out.config.policy.grace = Duration::seconds(2);
    if (plan.one_line) {
      out.config.policy.order = Order::kFifo;
      out.config.policy.backfill = Backfill::kOff;
    }
    if (!plan.clean) {
      out.faults = {.start_reply_lost = plan.reply_lost,
                    .start_unavailable = plan.reply_lost,
                    .stop_reply_lost = plan.reply_lost,
                    .list_unavailable = plan.reply_lost,
                    .fact_duplicated = plan.fact_duplicated,
                    .fact_late = plan.fact_late};
    }
    return out;
  }
  static std::uint32_t permille(int chance) { return static_cast<std::uint32_t>(chance); }
  [[nodiscard]] bool faulty() const { return !plan_.clean && !draining_; }

  void count() const {
    using testing_tally::tally;
    ++tally.worlds;
    tally.events += rig_.events_written;
    tally.cycles += rig_.cycles_written;
  }
  void record(const std::string& text) { digest_.add(text); }
  void broken(std::string what) {
    outcome_.broken.push_back(fmt::format("seed {}: {}", plan_.seed, std::move(what)));
  }

  // ---- what people do ----

  int act() {
    const std::uint64_t dice = random_.below(100);
    if (plan_.one_line || dice < 60) return submit_new();
    if (dice < 70) return retry_submit(), 0;
    if (dice < 85) return command_some(), 0;
    if (dice < 90) return drain_some(), 0;
    if (!plan_.clean && random_.chance(permille(plan_.node_fails * 10), 1000)) fail_some_node();
    return 0;
  }

  backend::AttemptScript script() {
    backend::AttemptScript out;
    out.runtime = Duration::milliseconds(random_.between(1, 30'000));
    out.exit_code = random_.chance(1, 4) ? random_.between(1, 255) : 0;
    out.start_delay = Duration::milliseconds(random_.between(0, 400));
    return out;
  }

  int submit_new() {
    Asked asked;
    asked.key = fmt::format("k{}", asked_.size());
    asked.caller = person(fmt::format("p{}", random_.below(permille(plan_.people))));
    asked.request = command(asked.key, plan_.one_line ? 1.0 : random_gpus());
    asked.request.idempotency_key = asked.key;
    asked.request.time_limit_seconds = 60.0 + static_cast<double>(random_.below(3600));
    if (!plan_.one_line) vary(asked.request);
    asked_.push_back(asked);
    send(asked_.size() - 1);
    return 1;
  }

  double random_gpus() {
    static constexpr double kSizes[] = {1, 1, 1, 2, 2, 4, 0.5, 0};
    return kSizes[random_.below(8)];
  }

  void vary(api::SubmitRequest& request) {
    if (random_.chance(1, 6)) request.tasks = 2;
    if (request.gpus.value_or(1) * static_cast<double>(request.tasks) >
        plan_.nodes * plan_.gpus) {
      request.tasks = 1;
    }
    if (random_.chance(1, 5)) request.min_runtime_seconds = 0;
    if (random_.chance(1, 8)) request.retries = 1;
    if (random_.chance(1, 12)) request.held = true;
    if (random_.chance(1, 10) && !request.held) request.array = {1, 2, 3};
    if (random_.chance(1, 6) && !asked_.empty()) {
      const Asked& before = asked_[random_.below(asked_.size())];
      if (before.id) request.afterany = {*before.id};
    }
    request.priority = random_.between(0, 3);
  }

  /// A lost answer is asked for again, with the same key, as a client does.
  void send(std::size_t index) {
    Asked& asked = asked_[index];
    // The numbers to come are known only afterwards, so any job gets the script of its turn.
    for (std::uint64_t ahead = 1; ahead < 6; ++ahead) {
      const JobId id(highest_ + ahead);
      if (!plans_.contains(id)) {
        plans_[id] = script();
        std::vector<backend::AttemptScript> attempts{plans_[id]};
        if (!plan_.one_line && random_.chance(1, 20)) {
          attempts.insert(attempts.begin(), plans_[id]);
          attempts.front().launch_fails = true;
        }
        rig_.backend().script(id, std::move(attempts));
      }
    }
    for (int tries = 0; tries < 3; ++tries) {
      const Result<api::SubmitReply> reply = rig_.submit(asked.caller, asked.request);
      if (!reply.ok()) {
        record("submit " + asked.key + " " + std::string(reply.error().message.substr(0, 20)));
        continue;
      }
      take_reply(asked, *reply);
      return;
    }
  }

  void take_reply(Asked& asked, const api::SubmitReply& reply) {
    record("submit " + asked.key + " " + reply.id);
    if (asked.id && *asked.id != reply.id) {
      broken("key " + asked.key + " was job " + *asked.id + " and then " + reply.id);
    }
    if (!asked.id && !ids_.insert(reply.id).second) broken("number " + reply.id + " given twice");
    asked.id = reply.id;
    for (const std::string& id : reply.ids) {
      const Result<api::Job> job = rig_.job(id);
      members_.insert(id);
      if (!job.ok() && job.error().code == ErrorCode::kNotFound) {
        broken("job " + id + " was promised and is not there");
      }
    }
    highest_ = std::max<std::uint64_t>(highest_, std::stoull(reply.id) + reply.ids.size());
  }

  void retry_submit() {
    if (!asked_.empty()) send(random_.below(asked_.size()));
  }

  void command_some() {
    if (asked_.empty()) return;
    const Asked& asked = asked_[random_.below(asked_.size())];
    if (!asked.id) return;
    static constexpr const char* kVerbs[] = {"cancel", "hold", "release", "requeue"};
    const char* verb = kVerbs[random_.below(4)];
    const auto page = rig_.command_job(asked.caller, *asked.id, verb);
    record(fmt::format("{} {} {}", verb, *asked.id, page.ok()));
  }

  void drain_some() {
    const std::string node = fmt::format("n{}", 1 + random_.below(permille(plan_.nodes)));
    const char* verb = random_.chance(1, 2) ? "drain" : "undrain";
    const auto view = rig_.ask<api::Node>([&](Reply<api::Node> done) {
      rig_.driver().node_command(admin(), node, verb, "test", std::move(done));
    });
    record(fmt::format("{} {} {}", verb, node, view.ok()));
  }

  void fail_some_node() {
    const std::string node = fmt::format("n{}", 1 + random_.below(permille(plan_.nodes)));
    if (failed_nodes_.contains(node)) {
      rig_.backend().recover_node(node);
      failed_nodes_.erase(node);
    } else {
      rig_.backend().fail_node(node);
      failed_nodes_.insert(node);
    }
    record("node " + node);
  }

  // ---- the end: faults stop, everything must come to rest ----

  void drain() {
    draining_ = true;
    disk_full_until_ = rig_.now();
    rig_.backend().set_faults({});
    for (const std::string& node : failed_nodes_) rig_.backend().recover_node(node);
    rig_.run_for(Duration::minutes(2));
    // Also those whose acknowledgement was lost.
    for (const JobId job : rig_.driver().engine().live_jobs()) {
      (void)rig_.command_job(admin(), std::to_string(job.value()), "release");
    }
    for (int i = 0; i < 200 && !rig_.driver().engine().live_jobs().empty(); ++i) {
      mend_nodes();
      rig_.run_for(Duration::minutes(1));
    }
  }

  void mend_nodes() {
    for (int i = 1; i <= plan_.nodes; ++i) {
      const std::string node = fmt::format("n{}", i);
      for (const char* verb : {"recover", "undrain"}) {
        (void)rig_.ask<api::Node>([&](Reply<api::Node> done) {
          rig_.driver().node_command(admin(), node, verb, "", std::move(done));
        });
      }
    }
  }

  void check() {
    for (const std::string& violation : rig_.backend().violations()) broken(violation);
    for (const std::string& invariant : rig_.driver().engine().check_invariants()) {
      broken(invariant);
    }
    for (const std::string& problem : rig_.driver().pulse().problems) broken(problem);
    if (!rig_.backend().running().empty()) broken("something runs that nobody knows of");
    for (const JobId job : rig_.driver().engine().live_jobs()) {
      const auto view = rig_.job(std::to_string(job.value()));
      broken(fmt::format("job {} never came to an end: {} {}", job.value(),
                         view.ok() ? view->state : "?", view.ok() ? view->reason : "?"));
    }
    for (const std::string& id : members_) {
      const Result<api::Job> job = rig_.job(id);
      ++outcome_.jobs;
      if (!job.ok()) {
        broken("job " + id + " is lost: " + job.error().message);
        continue;
      }
      record(id + " " + job->state + " " + std::to_string(job->attempts));
      outcome_.done += job->state == "done" ? 1 : 0;
      check_end(*job);
    }
    if (plan_.one_line) check_order();
    digest_.add(rig_.driver().engine().digest());
  }

  /// A job's last attempt ended as its processes did.
  void check_end(const api::Job& job) {
    if (job.history.empty()) return;
    const api::Attempt& last = job.history.back();
    if (last.cause != "exited") return;
    const JobId number = number_of(job);
    const auto plan = plans_.find(number);
    if (plan == plans_.end()) return;
    const std::int64_t truth = plan->second.exit_code;
    if (last.exit_code != truth) {
      broken(fmt::format("job {} exited with {}, the server says {}", job.id, truth,
                         last.exit_code ? std::to_string(*last.exit_code) : "nothing"));
    }
    if (job.state == "done" && truth != 0) broken("job " + job.id + " failed and is called done");
    if (job.state == "failed" && truth == 0 && last.signal == 0) {
      broken("job " + job.id + " succeeded and is called failed");
    }
  }

  JobId number_of(const api::Job& job) {
    const Result<JobRef> ref = parse_job_ref(job.id);
    if (!ref->index) return JobId(ref->number);
    return JobId(ref->number + static_cast<std::uint64_t>(*ref->index));  // arrays are 1..n here
  }

  void check_order() {
    std::map<std::uint64_t, std::string> first_ordered;
    for (const std::string& id : members_) {
      const Result<api::Job> job = rig_.job(id);
      if (job.ok() && !job->history.empty()) {
        first_ordered[std::stoull(id)] = job->history.front().ordered;
      }
    }
    std::string before;
    for (const auto& [number, ordered] : first_ordered) {
      if (ordered < before) broken(fmt::format("job {} started before an earlier one", number));
      before = std::max(before, ordered);
    }
  }

  Plan plan_;
  Random random_;
  Random faults_;
  Rig rig_;
  Outcome outcome_;
  Digest digest_;
  bool draining_ = false;
  int failed_commits_ = 0;
  Instant disk_full_until_;
  std::vector<Asked> asked_;
  std::map<JobId, backend::AttemptScript> plans_;
  std::set<std::string> ids_;
  std::set<std::string> members_;
  std::set<std::string> failed_nodes_;
  std::uint64_t highest_ = 0;
};

}  // namespace

Outcome run(const Plan& plan) {
  spdlog::set_level(spdlog::level::off);
  return World(plan).run();
}

}  // namespace rota::simulation
