#include "backend/simulated/simulated_backend.h"

#include <algorithm>
#include <utility>

namespace rota::backend {
namespace {

std::string name_of_attempt(JobId job, std::int64_t attempt) {
  return "job " + std::to_string(job.value()) + " attempt " + std::to_string(attempt);
}

AttemptEnded end_of(const StartOrder& order, EndKind kind) {
  AttemptEnded end;
  end.job = order.job;
  end.attempt = order.attempt;
  end.kind = kind;
  return end;
}

bool has_task_on(const Allocation& allocation, const std::string& node) {
  return std::any_of(allocation.tasks.begin(), allocation.tasks.end(),
                     [&](const TaskPlace& place) { return place.node == node; });
}

}  // namespace

SimulatedBackend::SimulatedBackend(SimulatedOptions options)
    : options_(std::move(options)),
      start_random_(Random(options_.seed).child("start")),
      stop_random_(Random(options_.seed).child("stop")),
      list_random_(Random(options_.seed).child("list")),
      fact_random_(Random(options_.seed).child("fact")) {}

bool SimulatedBackend::draw(Random& stream, std::int64_t per_mille) {
  return per_mille > 0 && stream.chance(static_cast<std::uint32_t>(per_mille), 1000);
}

Result<std::vector<NodeSpec>> SimulatedBackend::discover() {
  std::vector<NodeSpec> nodes = options_.nodes;
  for (NodeSpec& node : nodes) {
    const auto down = node_down_.find(node.name);
    if (down != node_down_.end() && down->second) node.state = NodeState::kDown;
  }
  return nodes;
}

void SimulatedBackend::on_facts(std::function<void()> wake) { wake_ = std::move(wake); }

void SimulatedBackend::script(JobId job, std::vector<AttemptScript> attempts) {
  scripts_[job] = std::move(attempts);
}

AttemptScript SimulatedBackend::script_for(JobId job, std::int64_t attempt) const {
  const auto found = scripts_.find(job);
  if (found == scripts_.end() || found->second.empty()) return options_.script;
  const std::int64_t last = static_cast<std::int64_t>(found->second.size());
  const std::int64_t index = std::clamp<std::int64_t>(attempt, 1, last) - 1;
  return found->second[static_cast<std::size_t>(index)];
}

// ---- orders ----

Status SimulatedBackend::start(const StartOrder& order) {
  if (draw(start_random_, options_.faults.start_unavailable)) {
    return Error{ErrorCode::kUnavailable, "the simulated back-end does not answer; try again"};
  }
  const bool known = attempts_.contains({order.job, order.attempt});
  if (draw(start_random_, options_.faults.start_reply_lost)) {
    if (!known && start_random_.chance(1, 2)) launch(order);
    return Error{ErrorCode::kUnknownResult, "the reply to the start of " +
                                                name_of_attempt(order.job, order.attempt) +
                                                " was lost; ask list()"};
  }
  if (!known) launch(order);
  return {};
}

void SimulatedBackend::launch(const StartOrder& order) {
  check_launch(order);
  check_devices(order);
  Attempt attempt;
  attempt.order = order;
  attempt.script = script_for(order.job, order.attempt);
  attempt.since = now_;
  const Key key{order.job, order.attempt};
  Attempt& stored = attempts_.insert_or_assign(key, std::move(attempt)).first->second;
  const Instant begin = now_ + stored.script.start_delay;
  for (const TaskPlace& place : order.allocation.tasks) {
    const auto down = node_down_.find(place.node);
    const bool is_down = down != node_down_.end() && down->second;
    if (!is_down && !stored.script.launch_fails) continue;
    AttemptEnded end = end_of(order, EndKind::kLaunchFailed);
    end.node = place.node;
    end.detail = is_down ? "node " + place.node + " does not answer" : stored.script.detail;
    plan_end(stored, begin, std::move(end));
    return;
  }
  ++launches_[key];
  plan(begin, {.step = Step::kStarted, .key = key, .generation = stored.generation});
}

void SimulatedBackend::check_launch(const StartOrder& order) {
  const std::string name = name_of_attempt(order.job, order.attempt);
  if (launches(order.job, order.attempt) > 0) violations_.push_back(name + " was begun twice");
  for (const auto& [key, other] : attempts_) {
    if (key.first == order.job && other.phase != Phase::kEnded) {
      violations_.push_back(name + " was begun while attempt " + std::to_string(key.second) +
                            " still runs");
    }
  }
}

void SimulatedBackend::check_devices(const StartOrder& order) {
  const std::string name = name_of_attempt(order.job, order.attempt);
  std::map<std::pair<std::string, int>, std::int64_t> used;
  for (const auto& [key, other] : attempts_) {
    if (other.phase == Phase::kEnded) continue;
    for (const TaskPlace& place : other.order.allocation.tasks) {
      for (const DeviceShare& share : place.devices) {
        used[{place.node, share.device}] += share.gpus.value();
      }
    }
  }
  for (const TaskPlace& place : order.allocation.tasks) {
    const auto node = std::find_if(options_.nodes.begin(), options_.nodes.end(),
                                   [&](const NodeSpec& n) { return n.name == place.node; });
    for (const DeviceShare& share : place.devices) {
      std::string given = name;
      given.append(" was given ").append(place.node).append(":");
      given += std::to_string(share.device);
      if (node == options_.nodes.end() || share.device < 0 ||
          share.device >= static_cast<std::int32_t>(node->devices.size())) {
        violations_.push_back(given + ", which does not exist");
        continue;
      }
      std::int64_t& sum = used[{place.node, share.device}];
      sum += share.gpus.value();
      if (sum > kWholeGpu.value()) {
        violations_.push_back(given + ", which is in use");
      }
    }
  }
}

Status SimulatedBackend::stop(const StopOrder& order) {
  const bool lost = draw(stop_random_, options_.faults.stop_reply_lost);
  if (lost && stop_random_.chance(1, 2)) {
    return Error{ErrorCode::kUnknownResult, "the stop order was lost; order it again"};
  }
  const auto found = attempts_.find({order.job, order.attempt});
  if (found == attempts_.end()) {
    AttemptEnded end;
    end.job = order.job;
    end.attempt = order.attempt;
    end.kind = EndKind::kStopped;
    end.detail = "not known here";
    emit(end);
  } else if (found->second.phase == Phase::kEnded) {
    emit(found->second.end);
  } else {
    begin_stop(found->second, order);
  }
  if (!lost) return {};
  return Error{ErrorCode::kUnknownResult, "the reply to the stop order was lost; order it again"};
}

void SimulatedBackend::begin_stop(Attempt& attempt, const StopOrder& order) {
  const Duration delay = std::min(attempt.script.stop_delay, order.grace);
  const Key key{order.job, order.attempt};
  if (!order.tasks.empty() && order.tasks.size() < attempt.order.allocation.tasks.size()) {
    TasksEnded ended;
    ended.job = order.job;
    ended.attempt = order.attempt;
    ended.tasks = order.tasks;
    plan(now_ + delay, {.step = Step::kTasksEnded,
                        .key = key,
                        .generation = attempt.generation,
                        .fact = ended});
    return;
  }
  if (attempt.stop_asked) return;
  attempt.stop_asked = true;
  attempt.phase = Phase::kStopping;
  ++attempt.generation;
  AttemptEnded end = end_of(attempt.order, EndKind::kStopped);
  Instant at = now_ + delay;
  end.signal = delay < attempt.script.stop_delay ? 9 : attempt.order.launch.stop_signal;
  if (attempt.natural_end && *attempt.natural_end <= at) {
    at = *attempt.natural_end;
    end.signal = attempt.script.signal;
    end.exit_code = attempt.script.exit_code;
  }
  plan_end(attempt, at, std::move(end));
}

Status SimulatedBackend::signal(JobId job, std::int64_t number, int signal_number) {
  const auto found = attempts_.find({job, number});
  if (found == attempts_.end() || found->second.phase == Phase::kEnded) {
    return Error{ErrorCode::kNotFound, name_of_attempt(job, number) + " does not run here"};
  }
  Attempt& attempt = found->second;
  AttemptEnded end = end_of(attempt.order, attempt.stop_asked ? EndKind::kStopped
                                                              : EndKind::kExited);
  const auto exits = attempt.script.exit_on_signal.find(signal_number);
  if (exits != attempt.script.exit_on_signal.end()) {
    end.exit_code = exits->second;
  } else if (signal_number == 9) {
    end.signal = 9;
  } else {
    return {};
  }
  ++attempt.generation;
  plan_end(attempt, now_, std::move(end));
  return {};
}

Status SimulatedBackend::set_time_limit(JobId job, std::int64_t attempt,
                                        std::optional<Duration> limit) {
  const auto found = attempts_.find({job, attempt});
  if (found != attempts_.end()) found->second.order.time_limit = limit;
  return {};
}

std::optional<Duration> SimulatedBackend::time_limit(JobId job, std::int64_t attempt) const {
  const auto found = attempts_.find({job, attempt});
  return found == attempts_.end() ? std::nullopt : found->second.order.time_limit;
}

Result<std::vector<KnownAttempt>> SimulatedBackend::list() {
  if (draw(list_random_, options_.faults.list_unavailable)) {
    return Error{ErrorCode::kUnavailable, "the simulated back-end does not answer; try again"};
  }
  std::vector<KnownAttempt> known;
  for (const auto& [key, attempt] : attempts_) {
    KnownAttempt entry;
    entry.job = key.first;
    entry.attempt = key.second;
    entry.alive = attempt.phase != Phase::kEnded;
    entry.end = attempt.end;
    known.push_back(std::move(entry));
  }
  return known;
}

void SimulatedBackend::forget(JobId job, std::int64_t attempt) {
  const auto found = attempts_.find({job, attempt});
  if (found != attempts_.end() && found->second.phase == Phase::kEnded) attempts_.erase(found);
}

// ---- the world ----

void SimulatedBackend::fail_node(const std::string& node) {
  node_down_[node] = true;
  emit(NodeCommanded{.node = node, .verb = NodeVerb::kFail, .reason = "does not answer"});
  for (auto& [key, attempt] : attempts_) {
    if (attempt.phase == Phase::kEnded || !has_task_on(attempt.order.allocation, node)) continue;
    AttemptEnded end = end_of(attempt.order, EndKind::kLost);
    end.node = node;
    end.detail = "node " + node + " does not answer";
    ++attempt.generation;
    finish(attempt, end);
  }
}

void SimulatedBackend::recover_node(const std::string& node) {
  node_down_[node] = false;
  emit(NodeCommanded{.node = node, .verb = NodeVerb::kRecover, .reason = "answers again"});
}

void SimulatedBackend::report(const Event& fact) { emit(fact); }

void SimulatedBackend::set_nodes(std::vector<NodeSpec> nodes) {
  for (const NodeSpec& node : nodes) {
    if (std::find(options_.nodes.begin(), options_.nodes.end(), node) == options_.nodes.end()) {
      emit(NodeReported{node});
    }
  }
  options_.nodes = std::move(nodes);
}

void SimulatedBackend::begin_run(Attempt& attempt) {
  attempt.phase = Phase::kRunning;
  attempt.since = now_;
  AttemptStarted started;
  started.job = attempt.order.job;
  started.attempt = attempt.order.attempt;
  started.at = now_;
  emit(started);
  if (!attempt.script.runtime) return;
  attempt.natural_end = now_ + *attempt.script.runtime;
  AttemptEnded end = end_of(attempt.order, EndKind::kExited);
  end.exit_code = attempt.script.exit_code;
  end.signal = attempt.script.signal;
  end.detail = attempt.script.detail;
  plan_end(attempt, *attempt.natural_end, std::move(end));
}

void SimulatedBackend::finish(Attempt& attempt, const AttemptEnded& end) {
  attempt.phase = Phase::kEnded;
  attempt.end = end;
  // Of what fell with its node nobody knows when.
  if (end.kind != EndKind::kLost) attempt.end.at = now_;
  emit(attempt.end);
}

void SimulatedBackend::drop_tasks(Attempt& attempt, const TasksEnded& ended) {
  auto& tasks = attempt.order.allocation.tasks;
  std::erase_if(tasks, [&](const TaskPlace& place) {
    return std::find(ended.tasks.begin(), ended.tasks.end(), place.task) != ended.tasks.end();
  });
  emit(ended);
}

void SimulatedBackend::run_step(const Planned& planned) {
  if (planned.step == Step::kDeliver) {
    deliver(planned.fact);
    return;
  }
  const auto found = attempts_.find(planned.key);
  if (found == attempts_.end() || found->second.generation != planned.generation) return;
  Attempt& attempt = found->second;
  if (attempt.phase == Phase::kEnded) return;
  switch (planned.step) {
    case Step::kStarted: begin_run(attempt); break;
    case Step::kEnded: finish(attempt, std::get<AttemptEnded>(planned.fact)); break;
    case Step::kTasksEnded: drop_tasks(attempt, std::get<TasksEnded>(planned.fact)); break;
    case Step::kDeliver: break;
  }
}

void SimulatedBackend::plan(Instant at, Planned planned) {
  planned_.emplace(std::pair{at, ++planned_count_}, std::move(planned));
}

void SimulatedBackend::plan_end(Attempt& attempt, Instant at, AttemptEnded end) {
  const Key key{attempt.order.job, attempt.order.attempt};
  plan(at, {.step = Step::kEnded,
            .key = key,
            .generation = attempt.generation,
            .fact = std::move(end)});
}

void SimulatedBackend::advance_to(Instant now) {
  while (!planned_.empty() && planned_.begin()->first.first <= now) {
    const auto first = planned_.extract(planned_.begin());
    now_ = std::max(now_, first.key().first);
    run_step(first.mapped());
  }
  now_ = std::max(now_, now);
}

std::optional<Instant> SimulatedBackend::next_event() const {
  if (planned_.empty()) return std::nullopt;
  return planned_.begin()->first.first;
}

// ---- facts ----

void SimulatedBackend::emit(const Event& fact) {
  const std::int64_t late_max = options_.faults.late_max.ns();
  const auto later = [&] { return now_ + Duration(fact_random_.between(0, late_max)); };
  if (draw(fact_random_, options_.faults.fact_duplicated)) {
    plan(later(), {.step = Step::kDeliver, .fact = fact});
  }
  if (draw(fact_random_, options_.faults.fact_late)) {
    plan(later(), {.step = Step::kDeliver, .fact = fact});
  } else {
    deliver(fact);
  }
}

void SimulatedBackend::deliver(const Event& fact) {
  facts_.push_back(fact);
  if (wake_) wake_();
}

Facts SimulatedBackend::poll() { return std::exchange(facts_, {}); }

void SimulatedBackend::lose_facts() {
  facts_.clear();
  std::erase_if(planned_, [](const auto& entry) { return entry.second.step == Step::kDeliver; });
}

// ---- for checks ----

std::vector<SimulatedBackend::Running> SimulatedBackend::running() const {
  std::vector<Running> result;
  for (const auto& [key, attempt] : attempts_) {
    if (attempt.phase == Phase::kEnded) continue;
    result.push_back({key.first, key.second, attempt.order.allocation, attempt.since});
  }
  return result;
}

std::int64_t SimulatedBackend::launches(JobId job, std::int64_t attempt) const {
  const auto found = launches_.find({job, attempt});
  return found == launches_.end() ? 0 : found->second;
}

}  // namespace rota::backend
