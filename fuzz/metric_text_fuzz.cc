// Any bytes as a scrape of device metrics.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "audit/device_use.h"
#include "audit/metric_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rota::audit;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = parse_metric_text(text, "f");
  if (!lines) {
    if (lines.error().message.empty() || lines.error().where.empty()) std::abort();
    return 0;
  }
  const ClusterUse use = device_use_of(*lines);
  for (const JobUse& job : use.jobs) {
    if (job.devices + job.instances == 0) std::abort();
  }
  return 0;
}
