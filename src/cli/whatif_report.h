// A what-if as tables for people and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/json.h"
#include "cli/report/setting.h"
#include "cli/whatif_run.h"
#include "report/table.h"

namespace rota::cli {

struct WhatIfReport {
  WhatIfBase base;
  std::vector<Scenario> scenarios;
  std::optional<reports::Prices> prices;
  bool by_team = false;              // -o wide
  std::vector<std::string> remarks;  // what looks like an effect and is none
};

/// One page: what was read, fidelity, the scenarios side by side, what was assumed.
[[nodiscard]] std::string whatif_page(const WhatIfReport& report,
                                      const report::TableStyle& style);
/// Fields are permanent; a figure that cannot be known is left out, never 0.
[[nodiscard]] api::Json whatif_json(const WhatIfReport& report);

/// What both commands say first: what was read, the cluster, the policy, fidelity with a verdict.
[[nodiscard]] std::string whatif_head(const WhatIfBase& base, const report::TableStyle& style);
/// A line each below `Careful:`; empty for none.
[[nodiscard]] std::string remarks_text(const std::vector<std::string>& remarks);
/// As `remarks`, where there are any.
void put_remarks(const std::vector<std::string>& remarks, api::Json& json);
/// What was assumed, a line each.
[[nodiscard]] std::string whatif_assumptions(const WhatIfSource& source, bool reacts);
[[nodiscard]] api::Json whatif_head_json(const WhatIfBase& base);
[[nodiscard]] api::Json outcome_json(const sim::Outcome& outcome);

}  // namespace rota::cli
