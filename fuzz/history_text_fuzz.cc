// Any bytes as text of past jobs, in each format of lines: the importers must answer with a history
// or an error, never crash; and what they read must come back from Rota's own form unchanged.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "history/csv/rota_csv.h"
#include "history/read.h"

namespace {

using namespace rota::history;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string written(const JobHistory& history) {
  std::ostringstream out;
  write_history_csv(history, out);
  return out.str();
}

void try_format(const std::string& text, const std::string& format) {
  const auto history = read_history_text(text, "f", {.format = format, .map = {}});
  if (!history) return require(!history.error().message.empty());
  std::size_t attempts = 0;
  for (const JobRecord& job : history->jobs()) attempts += history->attempts_of(job).size();
  require(attempts == history->attempts().size());
  const std::string first = written(*history);
  const auto again = read_history_text(first, "f", {.format = "rota", .map = {}});
  require(again.ok());
  require(written(*again) == first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* format : {"", "sacct", "jobcomp", "rota", "rota-jobs", "swf", "csv", "openb"}) {
    try_format(text, format);
  }
  return 0;
}
