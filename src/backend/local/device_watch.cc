#include "backend/local/device_watch.h"

#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backend/local/shim/system.h"
#include "backend/local/shim_process.h"

namespace rota::backend {
namespace {

constexpr std::chrono::milliseconds kHeldPeriod{200};
constexpr std::array<std::chrono::milliseconds, 3> kSecondLooks = {
    std::chrono::milliseconds(10), std::chrono::milliseconds(20), std::chrono::milliseconds(40)};

std::string user_of(std::int64_t pid) {
  struct stat info {};
  if (::stat(("/proc/" + std::to_string(pid)).c_str(), &info) != 0) return {};
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  if (::getpwuid_r(info.st_uid, &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(info.st_uid);
}

/// The claim whose shim is an ancestor of the process; null: none.
const DeviceClaim* claim_of(std::int64_t pid, const std::vector<DeviceClaim>& claims) {
  for (int steps = 0; pid > 1 && steps < 1000; ++steps) {
    for (const DeviceClaim& claim : claims) {
      if (claim.shim_pid == pid) return &claim;
    }
    pid = shim::process_facts(pid).parent;
  }
  return nullptr;
}

bool has_mark(const std::string& environment, const std::string& mark) {
  const std::string whole = std::string(1, '\0') + environment;
  return whole.find(std::string(1, '\0') + mark + std::string(1, '\0')) != std::string::npos;
}

Instant now() { return Instant(shim::clock_ns(CLOCK_REALTIME)); }

}  // namespace

DeviceWatch::DeviceWatch(std::shared_ptr<telemetry::DeviceDriver> driver, Options options,
                         Callbacks callbacks)
    : driver_(std::move(driver)),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      states_(options_.suspect_after) {
  std::string text;
  if (shim::read_file(options_.state_file, text)) states_.load(text);
  // What held a device before a restart holds it still, if it lives.
  for (const auto& [device, pid] : states_.held_pids()) {
    holders_.push_back({{pid, shim::process_facts(pid).start}, device});
  }
}

DeviceWatch::~DeviceWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DeviceWatch::begin() {
  thread_ = std::thread([this] { run(); });
}

void DeviceWatch::verify(EndedAttempt ended) {
  {
    const std::lock_guard lock(mutex_);
    ended_.push_back(std::move(ended));
  }
  changed_.notify_all();
}

std::map<std::string, std::vector<telemetry::DeviceReading>> DeviceWatch::readings() const {
  const std::lock_guard lock(mutex_);
  return readings_;
}

void DeviceWatch::run() {
  auto next = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!ended_.empty()) {
      const EndedAttempt ended = std::move(ended_.front());
      ended_.pop_front();
      lock.unlock();
      check_ended(ended);
      lock.lock();
      continue;
    }
    if (std::chrono::steady_clock::now() >= next) {
      lock.unlock();
      sample();
      const auto period = states_.any_held() ? std::min(options_.period, kHeldPeriod)
                                             : options_.period;
      next = std::chrono::steady_clock::now() + period;
      lock.lock();
      continue;
    }
    changed_.wait_until(lock, next);
  }
}

void DeviceWatch::sample() {
  Facts facts;
  auto nodes = driver_->discover();
  if (nodes.ok()) watch_inventory(*nodes, facts);
  const std::vector<DeviceClaim> claims = callbacks_.claims();
  for (const NodeSpec& node : nodes_) {
    if (!missing_.contains(node.name)) sample_node(node, claims, facts);
  }
  watch_holders(facts);
  measure(claims, facts);
  std::erase_if(owners_, [](const auto& owner) {
    return shim::process_facts(owner.first).pid == 0;
  });
  tell(std::move(facts));
}

void DeviceWatch::watch_inventory(const std::vector<NodeSpec>& nodes, Facts& out) {
  if (nodes_.empty()) {
    nodes_ = nodes;  // the caller has discover() for the first look
    return;
  }
  if (nodes == nodes_ && missing_.empty()) return;
  for (const NodeSpec& node : nodes) {
    const auto known = std::find_if(nodes_.begin(), nodes_.end(),
                                    [&](const NodeSpec& n) { return n.name == node.name; });
    const bool is_back = missing_.erase(node.name) > 0;
    if (is_back) {
      out.emplace_back(NodeCommanded{node.name, NodeVerb::kRecover, "the driver reports it again"});
    }
    if (known == nodes_.end()) {
      nodes_.push_back(node);
      out.emplace_back(NodeReported{node});
    } else if (!(*known == node)) {
      *known = node;
      out.emplace_back(NodeReported{node});
    }
  }
  for (const NodeSpec& known : nodes_) {
    const bool here = std::any_of(nodes.begin(), nodes.end(),
                                  [&](const NodeSpec& n) { return n.name == known.name; });
    if (here || !missing_.insert(known.name).second) continue;
    out.emplace_back(NodeCommanded{known.name, NodeVerb::kFail, "the driver reports it no longer"});
  }
}

void DeviceWatch::sample_node(const NodeSpec& node, const std::vector<DeviceClaim>& claims,
                              Facts& out) {
  auto readings = driver_->read(node.name);
  if (!readings.ok()) {
    forget_activity(node.name);  // no sample is no idleness; nothing else is concluded
    return;
  }
  const Instant when = now();
  for (std::size_t i = 0; i < readings->size(); ++i) {
    const telemetry::DeviceReading& reading = (*readings)[i];
    const DeviceKey key{node.name, static_cast<std::int32_t>(i)};
    states_.health(key, reading, when, out);
    if (!reading.processes) continue;
    std::vector<ForeignProcess> foreign;
    for (const telemetry::DeviceProcess& process : *reading.processes) {
      if (const DeviceClaim* claim = claim_of(process.pid, claims)) {
        owners_[process.pid] = claim->attempt;
        continue;
      }
      const bool is_held = std::any_of(holders_.begin(), holders_.end(), [&](const Holder& h) {
        return h.process.pid == process.pid;
      });
      // A process of an attempt that has just ended is looked at by check_ended().
      if (is_held || owners_.contains(process.pid)) continue;
      foreign.push_back({process.pid, process.memory,
                         process.user.empty() ? user_of(process.pid) : process.user});
    }
    states_.foreign(key, foreign, out);
  }
  remember(node.name, *std::move(readings));
}

void DeviceWatch::forget_activity(const std::string& node) {
  const std::lock_guard lock(mutex_);
  for (telemetry::DeviceReading& reading : readings_[node]) reading.busy_per_mille.reset();
}

void DeviceWatch::remember(const std::string& node,
                           std::vector<telemetry::DeviceReading> readings) {
  const std::lock_guard lock(mutex_);
  readings_[node] = std::move(readings);
}

// ---- after the end of an attempt ----

bool DeviceWatch::belongs_to(std::int64_t pid, const EndedAttempt& ended) const {
  const auto owner = owners_.find(pid);
  if (owner != owners_.end()) return owner->second == ended.attempt;
  std::string environment;
  if (!shim::read_file("/proc/" + std::to_string(pid) + "/environ", environment)) return false;
  return !ended.marks.empty() &&
         std::all_of(ended.marks.begin(), ended.marks.end(),
                     [&](const std::string& mark) { return has_mark(environment, mark); });
}

std::vector<DeviceWatch::Holder> DeviceWatch::listed_holders(const EndedAttempt& ended) {
  std::vector<Holder> holders;
  for (const auto& [node, devices] : ended.devices) {
    const auto readings = driver_->read(node);
    if (!readings.ok()) continue;
    for (const std::int64_t index : devices) {
      if (index < 0 || index >= static_cast<std::int64_t>(readings->size())) continue;
      const auto& processes = (*readings)[static_cast<std::size_t>(index)].processes;
      if (!processes) continue;
      for (const telemetry::DeviceProcess& process : *processes) {
        if (!belongs_to(process.pid, ended)) continue;
        holders.push_back({{process.pid, shim::process_facts(process.pid).start},
                           {node, static_cast<std::int32_t>(index)}});
      }
    }
  }
  return holders;
}

void DeviceWatch::check_ended(const EndedAttempt& ended) {
  std::vector<Holder> holders = listed_holders(ended);
  // A driver may list a process for a moment after its end: look again before it is called held.
  for (const auto pause : kSecondLooks) {
    if (holders.empty()) break;
    std::this_thread::sleep_for(pause);
    holders = listed_holders(ended);
  }
  for (const auto& [node, devices] : ended.devices) {
    for (const std::int64_t index : devices) {
      for (const shim::Process& left : ended.leftovers) {
        holders.push_back({left, {node, static_cast<std::int32_t>(index)}});
      }
    }
  }
  Facts facts;
  for (const Holder& holder : holders) {
    holders_.push_back(holder);
    states_.held(holder.device, holder.process.pid, facts);
  }
  std::erase_if(owners_, [&](const auto& owner) { return owner.second == ended.attempt; });
  if (!facts.empty()) shim::replace_file(options_.state_file, states_.save());
  callbacks_.verified(ended.attempt, std::move(facts));
}

bool DeviceWatch::is_listed(const Holder& holder) const {
  const std::lock_guard lock(mutex_);
  const auto readings = readings_.find(holder.device.first);
  if (readings == readings_.end()) return false;
  const auto index = static_cast<std::size_t>(holder.device.second);
  if (index >= readings->second.size() || !readings->second[index].processes) return false;
  const auto& processes = *readings->second[index].processes;
  return std::any_of(processes.begin(), processes.end(), [&](const auto& process) {
    return process.pid == holder.process.pid;
  });
}

void DeviceWatch::watch_holders(Facts& out) {
  std::erase_if(holders_, [&](const Holder& holder) {
    return !is_listed(holder) && !is_alive(holder.process);
  });
  std::map<DeviceKey, std::int64_t> held;
  for (const Holder& holder : holders_) held.try_emplace(holder.device, holder.process.pid);
  for (const NodeSpec& node : nodes_) {
    for (std::size_t i = 0; i < node.devices.size(); ++i) {
      const DeviceKey key{node.name, static_cast<std::int32_t>(i)};
      const auto pid = held.find(key);
      states_.held(key, pid == held.end() ? 0 : pid->second, out);
    }
  }
}

// ---- activity ----

void DeviceWatch::measure(const std::vector<DeviceClaim>& claims, Facts& out) {
  const auto readings = this->readings();
  std::map<JobId, std::vector<DeviceActivity>> by_job;
  for (const DeviceClaim& claim : claims) {
    auto& devices = by_job[claim.attempt.first];
    const auto node = readings.find(claim.node);
    for (const shim::Share& share : claim.devices) {
      DeviceActivity activity;
      activity.attributable = !share.shared;
      const auto index = static_cast<std::size_t>(share.device);
      if (node != readings.end() && index < node->second.size()) {
        activity.busy_per_mille = node->second[index].busy_per_mille;
      }
      devices.push_back(activity);
    }
  }
  for (const auto& [job, devices] : by_job) {
    if (devices.empty()) continue;
    const std::optional<std::int64_t> busy = job_activity(devices);
    std::optional<std::int64_t>& told = activity_[job];
    if (!is_material(told, busy)) continue;
    told = busy;
    out.emplace_back(ActivityMeasured{job, busy});
  }
  std::erase_if(activity_, [&](const auto& entry) { return !by_job.contains(entry.first); });
}

void DeviceWatch::tell(Facts facts) {
  if (facts.empty()) return;
  const bool any_device = std::any_of(facts.begin(), facts.end(), [](const Event& fact) {
    return std::holds_alternative<DeviceReported>(fact);
  });
  if (any_device) {
    shim::replace_file(options_.state_file, states_.save());
  }
  callbacks_.facts(std::move(facts));
}

}  // namespace rota::backend
