// `rota report devices`: what one scrape of device metrics tells.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/output.h"

namespace rota::cli::reports {

struct DevicesOptions {
  std::string file;
  OutputOptions output;
};

int report_devices(Context& context, const DevicesOptions& options);

}  // namespace rota::cli::reports
