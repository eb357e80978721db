// `rota report usage`, `cost` and `idle`.
#pragma once

#include "cli/context.h"
#include "cli/report/setting.h"

namespace rota::cli::reports {

int report_usage(Context& context, const ReportOptions& options);
int report_cost(Context& context, const ReportOptions& options);
int report_idle(Context& context, const ReportOptions& options);

}  // namespace rota::cli::reports
