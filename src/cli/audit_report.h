// An audit as a page for people, as HTML, as JSON and as CSV.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "audit/audit.h"
#include "audit/findings.h"
#include "report/table.h"

namespace rota::cli {

struct AuditReport {
  std::string source;                // files and their formats
  std::string capacity_words;        // what was given: `--on 64x8`; empty: nothing
  audit::Audit audit;
  std::vector<audit::Finding> findings;
  std::vector<std::string> unknowns;
};

/// `2026-03-02T10:00:00Z`, or `3h` since its start for a trace without dates.
[[nodiscard]] std::string audit_instant(std::int64_t ns);

/// Names and values.
using AuditLines = std::vector<std::pair<std::string, std::string>>;
/// What was looked at, and what there is.
[[nodiscard]] AuditLines audit_head(const AuditReport& report);
/// Availability, occupancy, impact, utilisation.
[[nodiscard]] AuditLines audit_layers(const audit::Audit& audit);

/// One page.
[[nodiscard]] std::string audit_page(const AuditReport& report, const report::TableStyle& style);
/// One document with inline style and charts (SVG): no script, nothing loaded from anywhere. Texts
/// of the history are escaped.
[[nodiscard]] std::string audit_html(const AuditReport& report);
/// Fields are permanent; a figure that cannot be known is left out, never 0.
[[nodiscard]] api::Json audit_json(const AuditReport& report);
/// `figure,value`, the fields of the JSON with dots between names.
[[nodiscard]] std::string audit_csv(const AuditReport& report);

}  // namespace rota::cli
