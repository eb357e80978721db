// `rota report delivered`: what teams were owed, and what they got of it.
#pragma once

#include "cli/context.h"
#include "cli/report/setting.h"

namespace rota::cli::reports {

int report_delivered(Context& context, const ReportOptions& options);

}  // namespace rota::cli::reports
