#include "sim/words.h"

#include <algorithm>

#include "base/overload.h"
#include "base/text.h"

namespace rota::sim {

namespace {

std::string shape_words(const JobShape& shape) {
  const TaskShape& task = shape.task;
  std::string text;
  if (task.slots > 0) {
    text = "slots=" + std::to_string(task.slots);
  } else if (!task.mig.empty()) {
    text = "mig=" + task.mig;
  } else {
    text = "gpus=" + format_gpus(task.gpus);
  }
  if (shape.tasks > 1) text += " tasks=" + std::to_string(shape.tasks);
  return text;
}

std::string name(const Scenario& scenario, JobId id) { return scenario.name_of_job(id); }

std::string device_words(const DeviceReported& e) {
  return e.node + ":" + std::to_string(e.device);
}

std::string end_words(const AttemptEnded& e) {
  if (e.kind == EndKind::kExited) return "ends, exit=" + std::to_string(e.exit_code);
  if (e.kind == EndKind::kStopped) return "is gone";
  return e.kind == EndKind::kLost ? "is lost: " + e.detail : "could not be launched";
}

}  // namespace

std::string instant_words(Instant at) { return format_duration(at - Instant{}); }

report::Wording wording_of(const Scenario& scenario) {
  return {[&scenario](JobId id) { return scenario.name_of_job(id); }, instant_words};
}

std::string_view state_word(JobState state) {
  switch (state) {
    case JobState::kStarting: return name_of(JobState::kPending);
    case JobState::kStopping: return name_of(JobState::kRunning);
    default: return name_of(state);
  }
}

std::vector<std::string> nodes_of(const std::vector<TaskPlace>& places) {
  std::vector<std::string> nodes;
  nodes.reserve(places.size());
  for (const auto& place : places) nodes.push_back(place.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::vector<std::string> devices_of(const std::vector<TaskPlace>& places) {
  std::vector<std::string> devices;
  for (const auto& place : places) {
    for (const auto& share : place.devices) {
      std::string device = place.node + ":" + std::to_string(share.device);
      if (share.mig_start >= 0) device += "@" + std::to_string(share.mig_start);
      const auto times = static_cast<std::size_t>(std::max(1, share.slots));
      devices.insert(devices.end(), times, device);
    }
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

std::string devices_words(const std::vector<TaskPlace>& places) {
  std::vector<std::string> parts;
  for (const auto& place : places) {
    const auto& shares = place.devices;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const std::string first = place.node + ":" + std::to_string(shares[i].device);
      if (shares[i].mig_start >= 0) {
        parts.push_back(first + "@" + std::to_string(shares[i].mig_start));
        continue;
      }
      if (shares[i].slots > 0) {
        parts.insert(parts.end(), static_cast<std::size_t>(shares[i].slots), first);
        continue;
      }
      std::size_t last = i;
      while (last + 1 < shares.size() && shares[last + 1].device == shares[last].device + 1) ++last;
      parts.push_back(last == i ? first : first + "-" + std::to_string(shares[last].device));
      i = last;
    }
    if (shares.empty()) parts.push_back(place.node);
  }
  return join(parts, ",");
}

std::string reason_words(const Reason& reason, const Scenario& scenario) {
  std::string text(name_of(reason.code));
  if (reason.resource) text += " resource=" + std::string(name_of(*reason.resource));
  const bool in_bytes = reason.resource == ReasonResource::kMemory ||
                        reason.resource == ReasonResource::kGpuMemory;
  const bool in_pieces = reason.resource == ReasonResource::kCpu ||
                         reason.resource == ReasonResource::kSlices ||
                         reason.code == ReasonCode::kArrayLimit;
  const auto add = [&](std::string_view key, const std::optional<std::int64_t>& value) {
    if (!value) return;
    text += " " + std::string(key) + "=";
    if (in_bytes) {
      text += format_bytes(Bytes(*value));
    } else {
      text += in_pieces ? std::to_string(*value) : format_gpus(MilliGpu(*value));
    }
  };
  if (reason.within != ReasonScope::kNone) text += " within=" + std::string(name_of(reason.within));
  add("limit", reason.limit);
  add("need", reason.need);
  add("free", reason.free);
  add("best", reason.best);
  add("short", reason.missing);
  add("freeable", reason.freeable);
  if (reason.by_job.valid()) {
    text += " by=" + scenario.name_of_job(reason.by_job);
  } else if (!reason.by.empty()) {
    text += " by=" + reason.by;
  }
  if (reason.until) text += " until=" + instant_words(*reason.until);
  return text;
}

std::string event_words(const Event& event, const Scenario& scenario) {
  return std::visit(
      Overload{
          [](const PolicySet&) { return std::string("policy"); },
          [](const QueueSet& e) { return "queue " + e.queue.name; },
          [](const UserSet& e) { return "user " + e.user.name; },
          [&](const GroupSubmitted& e) {
            return "group " + std::to_string(e.group.value()) + " of " + std::to_string(e.size);
          },
          [&](const JobSubmitted& e) {
            return name(scenario, e.job) + " is submitted: " + shape_words(e.spec.shape) +
                   " queue=" + e.spec.queue;
          },
          [&](const JobAdopted& e) {
            return name(scenario, e.job) + " runs on " + devices_words(e.allocation.tasks) +
                   " since " + instant_words(e.started);
          },
          [&](const JobCommanded& e) {
            return name(scenario, e.job) + ": " + std::string(name_of(e.verb));
          },
          [&](const JobUpdated& e) {
            return name(scenario, e.job) + ": tasks=" + std::to_string(e.spec.shape.tasks);
          },
          [](const NodeCommanded& e) { return e.node + ": " + std::string(name_of(e.verb)); },
          [](const UsageRecorded& e) { return "usage of " + e.queue; },
          [](const NodeReported& e) {
            return "node " + e.node.name + ": " + std::to_string(e.node.devices.size()) + " GPUs";
          },
          [](const DeviceReported& e) {
            std::string text = device_words(e) + ": " + std::string(name_of(e.condition));
            return e.xid == 0 ? text : text + " xid=" + std::to_string(e.xid);
          },
          [&](const AttemptStarted& e) {
            return name(scenario, e.job) + " runs, attempt " + std::to_string(e.attempt);
          },
          [&](const AttemptEnded& e) { return name(scenario, e.job) + " " + end_words(e); },
          [&](const TasksEnded& e) {
            return name(scenario, e.job) + " has lost " + std::to_string(e.tasks.size()) + " tasks";
          },
          [&](const ActivityMeasured& e) {
            return name(scenario, e.job) + ": busy " +
                   std::to_string(e.busy_per_mille.value_or(0)) + " of 1000";
          }},
      event);
}

std::string decision_words(const Decision& decision, const Scenario& scenario) {
  const auto by = [&](JobId id) {
    return id.valid() ? " for " + name(scenario, id) : std::string();
  };
  return "-> " + std::visit(
      Overload{
          [&](const StartAttempt& d) {
            return "start " + name(scenario, d.job) + " on " + devices_words(d.allocation.tasks);
          },
          [&](const StopAttempt& d) {
            std::string text = "stop " + name(scenario, d.job) + " (" +
                               std::string(name_of(d.cause)) + ")" + by(d.by);
            return d.grace == Duration{} ? text : text + " after " + format_duration(d.grace);
          },
          [&](const StopTasks& d) {
            return "stop " + std::to_string(d.tasks.size()) + " tasks of " +
                   name(scenario, d.job) + by(d.by);
          },
          [&](const GrowTasks& d) {
            return "grow " + name(scenario, d.job) + " on " + devices_words(d.added.tasks);
          },
          [&](const JobChanged& d) {
            std::string text = name(scenario, d.job) + " is " + std::string(state_word(d.state));
            return d.cause.empty() ? text : text + " (" + d.cause + ")";
          },
          [&](const SessionWarned& d) { return "warn " + name(scenario, d.job); },
          [](const NodeChanged& d) {
            return "node " + d.node + " is " + std::string(name_of(d.state));
          }},
      decision);
}

}  // namespace rota::sim
