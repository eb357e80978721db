// The statements of an `at` block that make something happen.
#pragma once

#include <optional>
#include <vector>

#include "sim/language/reader.h"

namespace rota::sim {

std::optional<StatementBody> read_submit(const Reader& reader);
/// `lines` after `position` say how many replicas the service will ever have.
std::optional<StatementBody> read_service(const Reader& reader, const std::vector<Line>& lines,
                                          std::size_t position);
std::optional<StatementBody> read_scale(const Reader& reader);
std::optional<StatementBody> read_finish(const Reader& reader);
std::optional<StatementBody> read_command(const Reader& reader, JobVerb verb);
std::optional<StatementBody> read_resize(const Reader& reader);
std::optional<StatementBody> read_node_command(const Reader& reader, NodeVerb verb);
std::optional<StatementBody> read_device(const Reader& reader, DeviceCondition condition);
std::optional<StatementBody> read_busy(const Reader& reader);

}  // namespace rota::sim
