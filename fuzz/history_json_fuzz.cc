// Any bytes as JSON of past jobs: sacct --json, Kubernetes dumps, Philly's job log, Rota's own.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "history/csv/rota_csv.h"
#include "history/read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rota::history;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* format : {"sacct-json", "kubernetes", "kai-snapshot", "squeue-json",
                             "philly-json", "rota-jobs-json"}) {
    const auto history = read_history_text(text, "f", {.format = format, .map = {}});
    if (!history) {
      if (history.error().message.empty()) std::abort();
      continue;
    }
    std::ostringstream out;
    write_history_csv(*history, out);
    if (!read_history_text(out.str(), "f", {.format = "rota", .map = {}})) std::abort();
  }
  return 0;
}
