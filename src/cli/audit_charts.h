// Charts of an audit as SVG, to stand inside HTML. Colours are told apart in grey, too, and each
// chart says in words what it shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/audit.h"

namespace rota::cli {

/// For text and attributes of HTML; control characters become spaces.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// One bar: where the capacity went, line by line. Empty without GPU time.
[[nodiscard]] std::string ledger_chart(const audit::Audit& audit);
/// The colour of a line in that chart.
[[nodiscard]] std::string_view ledger_colour(audit::Line line);
/// Occupancy by weekday and hour. Empty without placed runs.
[[nodiscard]] std::string week_chart(const audit::Audit& audit);

struct WaitBar {
  std::string name;
  std::int64_t p50 = 0;  // nanoseconds
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
};
/// Bars on a scale of powers of ten, from a second. Empty without bars.
[[nodiscard]] std::string wait_chart(const std::vector<WaitBar>& bars);

}  // namespace rota::cli
