#include "telemetry/nvml/topology.h"

#include <fstream>
#include <map>
#include <numeric>

#include "telemetry/nvml/names.h"

namespace rota::telemetry::nvml {
namespace {

/// Disjoint sets of device indices.
class Groups {
 public:
  explicit Groups(std::size_t size) : leader_(size) {
    std::iota(leader_.begin(), leader_.end(), 0);
  }
  void join(std::size_t a, std::size_t b) { leader_[leader(a)] = leader(b); }
  [[nodiscard]] std::vector<std::vector<int>> with_at_least(std::size_t least) {
    std::map<std::size_t, std::vector<int>> by_leader;
    for (std::size_t i = 0; i < leader_.size(); ++i) {
      by_leader[leader(i)].push_back(static_cast<int>(i));
    }
    std::map<int, std::vector<int>> by_first;
    for (auto& [leader, group] : by_leader) {
      if (group.size() >= least) by_first[group.front()] = group;
    }
    std::vector<std::vector<int>> result;
    result.reserve(by_first.size());
    for (auto& [first, group] : by_first) result.push_back(std::move(group));
    return result;
  }

 private:
  std::size_t leader(std::size_t i) const {
    while (leader_[i] != i) i = leader_[i];
    return i;
  }
  std::vector<std::size_t> leader_;
};

bool join_by_nvlink(const Functions& call, const std::vector<TopologyDevice>& devices,
                    Groups& groups) {
  if (call.nvlink_state == nullptr || call.nvlink_remote == nullptr) return false;
  bool any = false;
  std::size_t first_at_switch = devices.size();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].handle == nullptr) continue;
    for (std::uint32_t link = 0; link < kNvLinksMax; ++link) {
      std::uint32_t active = 0;
      if (call.nvlink_state(devices[i].handle, link, &active) != kSuccess || active == 0) continue;
      any = true;
      PciInfo remote{};
      if (call.nvlink_remote(devices[i].handle, link, &remote) != kSuccess) continue;
      const std::string bus = bus_of(remote);
      bool direct = false;
      for (std::size_t k = 0; k < devices.size(); ++k) {
        if (devices[k].handle == nullptr || devices[k].pci != bus) continue;
        groups.join(i, k);
        direct = true;
      }
      if (direct) continue;
      // The other end is a switch; the switches of one machine form one fabric.
      if (first_at_switch == devices.size()) first_at_switch = i;
      groups.join(i, first_at_switch);
    }
  }
  return any;
}

void join_by_ancestor(const Functions& call, const std::vector<TopologyDevice>& devices,
                      std::uint32_t farthest, Groups& groups) {
  if (call.common_ancestor == nullptr) return;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t k = i + 1; k < devices.size(); ++k) {
      if (devices[i].handle == nullptr || devices[k].handle == nullptr) continue;
      std::uint32_t level = 0;
      if (call.common_ancestor(devices[i].handle, devices[k].handle, &level) == kSuccess &&
          level <= farthest) {
        groups.join(i, k);
      }
    }
  }
}

/// -1: unknown, or a machine with one node.
int numa_node_of(const std::string& pci) {
  int node = -1;
  if (!pci.empty()) std::ifstream("/sys/bus/pci/devices/" + pci + "/numa_node") >> node;
  return node;
}

}  // namespace

std::vector<std::vector<int>> find_islands(const Functions& call,
                                           const std::vector<TopologyDevice>& devices) {
  Groups groups(devices.size());
  if (!join_by_nvlink(call, devices, groups)) {
    join_by_ancestor(call, devices, kSeveralSwitches, groups);
  }
  return groups.with_at_least(2);
}

std::vector<std::vector<int>> find_sockets(const Functions& call,
                                           const std::vector<TopologyDevice>& devices) {
  Groups groups(devices.size());
  std::map<int, std::size_t> first_of_node;
  bool all_known = true;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int node = numa_node_of(devices[i].pci);
    all_known = all_known && node >= 0;
    if (node < 0) continue;
    const auto [first, is_new] = first_of_node.try_emplace(node, i);
    if (!is_new) groups.join(i, first->second);
  }
  if (!all_known) join_by_ancestor(call, devices, kSameNumaNode, groups);
  return groups.with_at_least(1);
}

}  // namespace rota::telemetry::nvml
