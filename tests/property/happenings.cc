#include "tests/property/happenings.h"

#include <algorithm>
#include <array>

namespace rota::property {

namespace {

constexpr std::array<std::int64_t, 6> kPassSeconds{60, 0, 600, 7, 1800, 5400};

}  // namespace

std::optional<JobId> Happenings::some_job(std::uint32_t number) const {
  if (last_id_ == 0) return std::nullopt;
  return JobId(1 + number % last_id_);
}

TaskShape Happenings::task_from(std::uint32_t number) {
  Digits digits(number);
  TaskShape task;
  const std::uint32_t kind = digits.below(10);
  if (kind == 6) {
    constexpr std::array<std::int64_t, 4> kFractions{500, 250, 300, 700};
    task.gpus = MilliGpu(kFractions[digits.below(4)]);
    if (digits.below(2) == 1) task.gpu_memory = gibibytes(20);
  } else if (kind == 7) {
    task.slots = 1 + digits.below(3);
    if (task.slots > 1) task.distinct_devices = digits.below(3);
  } else if (kind == 8) {
    constexpr std::array<const char*, 4> kProfiles{"1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"};
    task.mig = kProfiles[digits.below(4)];
  } else if (kind == 9) {
    task.gpus = MilliGpu(0);
    task.cpus = 1 + digits.below(8);
  } else {
    constexpr std::array<std::int64_t, 7> kCounts{1, 2, 1, 4, 8, 1, 3};
    task.gpus = whole_gpus(kCounts[digits.below(7)]);
    if (digits.rarely(5)) task.cpus = 4;
    if (digits.rarely(5)) task.memory = gibibytes(300);
  }
  return task;
}

void Happenings::shape_from(const Step& step, JobShape& shape) {
  shape.task = task_from(step.n[1]);
  Digits digits(step.n[2]);
  constexpr std::array<std::int64_t, 6> kTasks{1, 1, 2, 3, 4, 1};
  shape.tasks = kTasks[digits.below(6)];
  if (shape.tasks > 1 && digits.rarely(3)) shape.min_tasks = 1 + digits.below(2);
  constexpr std::array<TopologyLevel, 8> kSame{
      TopologyLevel::kNone, TopologyLevel::kNone,   TopologyLevel::kNone, TopologyLevel::kNone,
      TopologyLevel::kNode, TopologyLevel::kIsland, TopologyLevel::kRack, TopologyLevel::kNone};
  shape.same = kSame[digits.below(8)];
  if (digits.rarely(6)) shape.prefer = TopologyLevel::kNode;
  if (digits.rarely(6)) shape.models = {"h100", "a100"};
  if (digits.rarely(8)) shape.on = {names_.node(digits.below(4))};
  if (digits.rarely(8)) shape.exclude = {names_.node(digits.below(4))};
}

JobSpec Happenings::spec_from(const Step& step, Instant now) {
  JobSpec spec;
  Digits owner(step.n[0]);
  spec.queue = names_.queue(stage_.leaves[owner.below(4) % stage_.leaves.size()]);
  if (owner.below(3) > 0) spec.user = names_.user(owner.below(3));
  constexpr std::array<std::int64_t, 5> kPriorities{0, 1, 0, 2, -1};
  spec.priority = kPriorities[owner.below(5)];
  spec.charge = !owner.rarely(6);
  shape_from(step, spec.shape);
  Digits time(step.n[3]);
  constexpr std::array<std::int64_t, 6> kLimits{30, 0, 10, 60, 120, 30};
  const std::int64_t limit = kLimits[time.below(6)];
  if (limit > 0) spec.time_limit = Duration::minutes(limit);
  constexpr std::array<std::int64_t, 6> kContracts{-1, 0, 10, 60, 0, 20};
  const std::int64_t contract = kContracts[time.below(6)];
  if (contract >= 0) spec.min_runtime = Duration::minutes(contract);
  if (time.below(3) == 2) spec.checkpoint = Duration::minutes(7);
  if (time.rarely(8)) spec.interactive = true;
  Digits rest(step.n[4]);
  if (rest.rarely(10)) spec.begin = now + Duration::minutes(5 + rest.below(30));
  if (rest.rarely(10)) spec.held = true;
  if (rest.rarely(12)) spec.requeue = false;
  if (rest.rarely(12)) spec.hold_infeasible = false;
  if (rest.rarely(6)) {
    const auto kind = static_cast<DependencyKind>(rest.below(3));
    if (const auto on = some_job(rest.below(64))) spec.dependencies.push_back({kind, *on, {}});
    if (!groups_.empty() && rest.below(2) == 1) {
      spec.dependencies.push_back({kind, {}, groups_[rest.below(16) % groups_.size()]});
    }
  }
  return spec;
}

void Happenings::add_job(Happening& out, const JobSpec& spec, const Step& step) {
  const JobId id(++last_id_);
  Digits digits(step.n[5]);
  constexpr std::array<std::int64_t, 6> kRuns{25, 5, 0, 50, 90, 31};
  const std::int64_t runs = kRuns[digits.below(6)];
  Work work;
  if (runs > 0) work.runs = Duration::minutes(runs);
  work.exit_code = digits.rarely(7) ? 1 : 0;
  out.work.push_back({id, work});
  out.events.push_back(JobSubmitted{id, spec});
}

Happening Happenings::submit(const Step& step, Instant now) {
  Happening out;
  out.any_order = true;
  const std::uint32_t count = 1 + Digits(step.n[5] / 64).below(3);
  Step one = step;
  for (std::uint32_t i = 0; i < count; ++i) {
    JobSpec spec = spec_from(one, now);
    // Members of one burst depend on nobody, so that their order cannot matter.
    if (count > 1) spec.dependencies.clear();
    add_job(out, spec, one);
    for (std::uint32_t& n : one.n) n = n / 3 + 7 * (i + 1);
  }
  return out;
}

Happening Happenings::submit_group(const Step& step, Instant now) {
  Happening out;
  JobSpec spec = spec_from(step, now);
  Digits digits(step.n[5] / 64);
  GroupSubmitted group;
  group.group = GroupId(1'000'000 + groups_.size() + 1);
  group.size = 2 + digits.below(4);
  if (digits.below(3) > 0) group.throttle = 1 + digits.below(3);
  groups_.push_back(group.group);
  out.events.push_back(group);
  spec.group = group.group;
  for (std::int64_t i = 1; i <= group.size; ++i) {
    spec.group_index = i;
    add_job(out, spec, step);
  }
  return out;
}

Happening Happenings::command(const Step& step, const engine::Engine& engine) {
  Happening out;
  const auto job = some_job(step.n[0]);
  if (!job || !engine.job(*job)) return out;
  constexpr std::array<JobVerb, 5> kVerbs{JobVerb::kCancel, JobVerb::kHold, JobVerb::kRelease,
                                          JobVerb::kRequeue, JobVerb::kRelease};
  out.events.push_back(JobCommanded{*job, kVerbs[step.n[1] % 5], "someone"});
  return out;
}

Happening Happenings::update(const Step& step, const engine::Engine& engine) {
  Happening out;
  const auto job = some_job(step.n[0]);
  if (!job) return out;
  const auto status = engine.job(*job);
  if (!status) return out;
  JobSpec spec = *status->spec;
  Digits digits(step.n[1]);
  switch (digits.below(6)) {
    case 0: spec.priority += 1; break;
    case 1: spec.time_limit = Duration::minutes(15 + digits.below(90)); break;
    case 2: spec.time_limit.reset(); break;
    case 3:
      if (spec.shape.min_tasks > 0) {
        spec.shape.tasks = spec.shape.min_tasks + digits.below(3);
      }
      break;
    case 4: spec.queue = names_.queue(stage_.leaves[digits.below(4) % stage_.leaves.size()]); break;
    default: spec.user = names_.user(digits.below(3)); break;
  }
  out.events.push_back(JobUpdated{*job, spec});
  return out;
}

Happening Happenings::node_trouble(const Step& step, const engine::Engine& engine) {
  Happening out;
  const std::size_t i = step.n[0] % stage_.nodes.size();
  const std::string name = stage_.nodes[i].name;
  const std::uint32_t what = step.n[1] % 10;
  constexpr std::array<NodeVerb, 7> kVerbs{NodeVerb::kDrain,   NodeVerb::kUndrain,
                                           NodeVerb::kRecover, NodeVerb::kQuarantine,
                                           NodeVerb::kUndrain, NodeVerb::kFail,
                                           NodeVerb::kRemove};
  if (what < kVerbs.size()) {
    out.events.push_back(NodeCommanded{name, kVerbs[what], "trouble"});
    if (what >= 5) out.lose_node = name;
    return out;
  }
  // It reports again: as before, or (two in three) with one device more or less.
  NodeSpec spec = *engine.node(name)->spec;
  if (what == 8) spec.devices.push_back(spec.devices.empty() ? DeviceSpec{} : spec.devices[0]);
  if (what == 9 && !spec.devices.empty()) {
    spec.devices.pop_back();
    spec.islands.clear();
  }
  if (spec.devices.size() > 9) spec.devices.pop_back();
  out.events.push_back(NodeReported{spec});
  return out;
}

Happening Happenings::device_trouble(const Step& step) {
  Happening out;
  const NodeSpec& node = stage_.nodes[step.n[0] % stage_.nodes.size()];
  DeviceReported report;
  report.node = node.name;
  report.device = static_cast<std::int32_t>(step.n[1] % 4);
  report.condition = static_cast<DeviceCondition>(step.n[2] % 6);
  report.xid = step.n[3] % 3 == 0 ? 79 : 13;
  report.pid = report.condition == DeviceCondition::kHeld ? 4711 : 0;
  out.events.push_back(report);
  return out;
}

Happening Happenings::owners(const Step& step) {
  Happening out;
  Digits digits(step.n[1]);
  if (step.n[0] % 4 == 3) {
    UserSpec user{names_.user(digits.below(3)), {}};
    if (digits.below(3) > 0) user.limit = whole_gpus(1 + digits.below(6));
    out.events.push_back(UserSet{user});
    return out;
  }
  const std::size_t i = step.n[0] % stage_.queues.size();
  if (digits.below(4) == 3) {
    UsageRecorded usage;
    usage.queue = names_.queue(i);
    usage.milli_gpu_seconds = 1000 * static_cast<std::int64_t>(digits.below(50'000));
    usage.from = Instant() - Duration::minutes(digits.below(90));
    usage.to = usage.from + Duration::minutes(digits.below(3) * 5);
    out.events.push_back(usage);
    return out;
  }
  QueueSpec queue = stage_.queues[i];
  queue.weight = digits.below(4);
  queue.quota.reset();
  queue.limit.reset();
  if (digits.below(3) == 2) queue.quota = whole_gpus(1 + digits.below(4));
  if (digits.below(4) == 3) queue.limit = whole_gpus(2 + digits.below(6));
  out.events.push_back(QueueSet{queue});
  return out;
}

Happening Happenings::new_policy(const Step& step) {
  Happening out;
  PolicySet set{stage_.policy};
  Digits digits(step.n[0]);
  set.policy.grace = Duration::seconds(digits.below(3) * 20);
  set.policy.backfill = static_cast<Backfill>(digits.below(4));
  set.policy.reclaim = static_cast<Reclaim>(digits.below(3));
  if (digits.below(3) == 2) set.policy.consolidation = static_cast<Consolidation>(digits.below(2));
  if (digits.below(3) == 2) set.policy.order = static_cast<Order>(digits.below(3));
  out.events.push_back(set);
  return out;
}

Happening Happenings::repeat_fact(const Step& step, const BackendWorld& world) {
  Happening out;
  if (world.told().empty()) return out;
  const std::size_t back = step.n[0] % std::min<std::size_t>(world.told().size(), 8);
  out.events.push_back(world.told()[world.told().size() - 1 - back]);
  return out;
}

Happening Happenings::stale_fact(const Step& step) {
  Happening out;
  const auto job = some_job(step.n[0]);
  if (!job) return out;
  const std::int64_t attempt = static_cast<std::int64_t>(step.n[1] % 3) + 90;
  switch (step.n[2] % 4) {
    case 0: out.events.push_back(AttemptStarted{*job, attempt}); break;
    case 1: out.events.push_back(TasksEnded{*job, attempt, {0, 1}}); break;
    case 2: out.events.push_back(ActivityMeasured{*job, step.n[3] % 2 == 0 ? 0 : 700}); break;
    default: {
      AttemptEnded fact;
      fact.job = *job;
      fact.attempt = attempt;
      out.events.push_back(fact);
    }
  }
  return out;
}

Happening Happenings::read(const Step& step, const engine::Engine& engine,
                           const BackendWorld& world, Instant now) {
  Happening out;
  const std::uint32_t kind = step.kind;
  if (kind < 45) {
    out = submit(step, now);
  } else if (kind < 51) {
    out = submit_group(step, now);
  } else if (kind < 62) {
    // Only time goes by.
  } else if (kind < 69) {
    const auto running = world.running();
    if (!running.empty()) {
      out.finish = {running[step.n[0] % running.size()], step.n[1] % 4 == 3 ? 1 : 0};
    }
  } else if (kind < 76) {
    out = command(step, engine);
  } else if (kind < 80) {
    out = update(step, engine);
  } else if (kind < 85) {
    out = node_trouble(step, engine);
  } else if (kind < 88) {
    out = device_trouble(step);
  } else if (kind < 92) {
    out = owners(step);
  } else if (kind < 94) {
    out = new_policy(step);
  } else if (kind < 97) {
    out = repeat_fact(step, world);
  } else {
    out = stale_fact(step);
  }
  out.pass = Duration::seconds(kPassSeconds[Digits(step.n[5] / 4096).below(6)]);
  return out;
}

}  // namespace rota::property
