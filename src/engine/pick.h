// Choosing devices inside one node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/request.h"

namespace rota::engine {

struct PickRules {
  std::int32_t model = kNone;              // kNone: any
  const std::vector<std::int32_t>* devices = nullptr;  // only these (sorted); null: all
  bool spread = false;                     // emptiest instead of fullest group
};

/// The node has the CPUs and the memory for one task now.
bool host_fits(const NodeCap& node, const Request& request);
/// Whole devices: the fullest island that holds the task, else the fullest socket, then the lowest
/// indices. Empty when they do not fit.
std::vector<DeviceShare> pick_whole(const NodeCap& node, const Request& request,
                                    const PickRules& rules, const std::vector<Domain>& islands,
                                    const std::vector<Domain>& sockets);
/// Time slices: one device if one holds them all, else from the fullest on.
std::vector<DeviceShare> pick_slots(const NodeCap& node, const Request& request,
                                    const PickRules& rules);
/// The part of `device` a fraction or MIG instance would take; none when it does not fit.
std::optional<DeviceShare> fit_part(const DeviceCap& device, std::int32_t index,
                                    const Request& request, const PickRules& rules,
                                    const std::string& model_name);
}  // namespace rota::engine
