#include "backend/local/device_state.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace rota::backend {
namespace {

constexpr Bytes kForeignStep = mebibytes(256);
constexpr std::int64_t kActivityStep = 50;

bool is_application_fault(std::int64_t xid) { return xid == 13 || xid == 31; }

DeviceReported fact_of(const DeviceKey& key, DeviceCondition condition) {
  DeviceReported fact;
  fact.node = key.first;
  fact.device = key.second;
  fact.condition = condition;
  return fact;
}

}  // namespace

void DeviceStates::health(const DeviceKey& key, const telemetry::DeviceReading& reading,
                          Instant now, Facts& out) {
  using telemetry::DeviceHealth;
  DeviceTold& told = told_[key];
  bool bad = reading.health >= DeviceHealth::kNeedsReset;
  if (reading.health == DeviceHealth::kSuspect) {
    const Instant since = suspect_since_.try_emplace(key, now).first->second;
    // What was an error stays one while nobody can tell.
    bad = told.error || now - since >= suspect_after_;
  } else {
    suspect_since_.erase(key);
  }
  const bool again = fresh_.erase(key) > 0;
  if (bad) {
    if (told.error && !again && (reading.xid == 0 || reading.xid == told.xid)) return;
    told.error = true;
    if (reading.xid != 0) told.xid = reading.xid;
    DeviceReported fact = fact_of(key, DeviceCondition::kError);
    fact.xid = told.xid;
    out.emplace_back(fact);
    return;
  }
  if (told.error) {
    told.error = false;
    told.xid = 0;
    out.emplace_back(fact_of(key, DeviceCondition::kHealthy));
  }
  if (reading.xid == told.xid) return;
  told.xid = reading.xid;
  if (!is_application_fault(reading.xid)) return;
  DeviceReported fact = fact_of(key, DeviceCondition::kError);
  fact.xid = reading.xid;
  out.emplace_back(fact);
}

void DeviceStates::foreign(const DeviceKey& key, const std::vector<ForeignProcess>& use,
                           Facts& out) {
  DeviceTold& told = told_[key];
  if (use.empty()) {
    if (!told.foreign) return;
    told.foreign = false;
    told.foreign_pid = 0;
    told.foreign_memory = Bytes();
    out.emplace_back(fact_of(key, DeviceCondition::kForeignGone));
    return;
  }
  const ForeignProcess& largest =
      *std::max_element(use.begin(), use.end(), [](const auto& a, const auto& b) {
        return std::pair(a.memory, b.pid) < std::pair(b.memory, a.pid);
      });
  const std::int64_t change = std::abs((largest.memory - told.foreign_memory).value());
  if (told.foreign && told.foreign_pid == largest.pid && change < kForeignStep.value()) return;
  told.foreign = true;
  told.foreign_pid = largest.pid;
  told.foreign_memory = largest.memory;
  DeviceReported fact = fact_of(key, DeviceCondition::kForeign);
  fact.pid = largest.pid;
  fact.memory = largest.memory;
  fact.user = largest.user;
  out.emplace_back(fact);
}

void DeviceStates::held(const DeviceKey& key, std::int64_t pid, Facts& out) {
  DeviceTold& told = told_[key];
  if (pid == told.held_pid && (pid != 0) == told.held) return;
  told.held = pid != 0;
  told.held_pid = pid;
  DeviceReported fact = fact_of(key, pid != 0 ? DeviceCondition::kHeld
                                              : DeviceCondition::kHeldGone);
  fact.pid = pid;
  out.emplace_back(fact);
}

bool DeviceStates::any_held() const {
  return std::any_of(told_.begin(), told_.end(),
                     [](const auto& entry) { return entry.second.held; });
}

std::map<DeviceKey, std::int64_t> DeviceStates::held_pids() const {
  std::map<DeviceKey, std::int64_t> pids;
  for (const auto& [key, told] : told_) {
    if (told.held) pids[key] = told.held_pid;
  }
  return pids;
}

std::string DeviceStates::save() const {
  std::ostringstream text;
  for (const auto& [key, told] : told_) {
    if (!told.error && !told.foreign && !told.held) continue;
    text << key.first << ' ' << key.second << ' ' << told.error << ' ' << told.xid << ' '
         << told.foreign << ' ' << told.held << ' ' << told.held_pid << '\n';
  }
  return text.str();
}

void DeviceStates::load(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    DeviceKey key;
    DeviceTold told;
    if (!(words >> key.first >> key.second >> told.error >> told.xid >> told.foreign >>
          told.held >> told.held_pid)) {
      continue;
    }
    told_[key] = told;
    if (told.error) fresh_[key] = true;
  }
}

std::optional<std::int64_t> job_activity(const std::vector<DeviceActivity>& devices) {
  if (devices.empty()) return std::nullopt;
  std::int64_t sum = 0;
  for (const DeviceActivity& device : devices) {
    if (!device.busy_per_mille) return std::nullopt;
    if (*device.busy_per_mille > 0 && !device.attributable) return std::nullopt;
    sum += *device.busy_per_mille;
  }
  const auto count = static_cast<std::int64_t>(devices.size());
  return (sum + count - 1) / count;
}

bool is_material(std::optional<std::int64_t> before, std::optional<std::int64_t> after) {
  if (before.has_value() != after.has_value()) return true;
  if (!before) return false;
  if ((*before == 0) != (*after == 0)) return true;
  return std::abs(*before - *after) >= kActivityStep;
}

}  // namespace rota::backend
