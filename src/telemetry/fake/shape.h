// Made-up nodes from a short text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"

namespace rota::telemetry {

/// `8xh100`: one node sim1 of eight; `2x4xh100`: nodes sim1 and sim2 of four each; `h100`: one
/// node of one. Up to 1,000 nodes of 64 devices. All devices of a node form one island; eight and
/// more are split over two sockets. Errors name the part that is wrong and a valid example.
Result<std::vector<NodeSpec>> parse_shape(std::string_view shape);

/// A node like those of parse_shape(): islands, sockets and made-up device identities
/// ("GPU-sim1-0").
NodeSpec made_up_node(const std::string& name, std::vector<DeviceSpec> devices);

}  // namespace rota::telemetry
