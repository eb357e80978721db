// The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 for what is
// not known, comments behind semicolons of which `UnixStartTime` is used.
//
// Its processors are CPUs. Where a trace counts GPUs as processors, `--map gpus=processors` (with
// --format swf) says so.
#include <algorithm>
#include <array>
#include <string>

#include "history/importer.h"
#include "history/words.h"

namespace rota::history {
namespace {

constexpr std::size_t kFields = 18;
enum Field : std::size_t {
  kJob, kSubmit, kWait, kRun, kProcessors, kCpuTime, kMemoryUsed, kProcessorsWanted, kTimeWanted,
  kMemoryWanted, kStatus, kUser, kGroup, kExecutable, kQueue, kPartition
};
constexpr std::int64_t kSecondsMax = 4'000'000'000;
constexpr std::int64_t kCountMax = 1'000'000;

/// The numbers of a line; fewer than kFields: it is no row. Fractions are cut.
std::size_t numbers_of(std::string_view line, std::array<std::int64_t, kFields>& values) {
  std::size_t count = 0;
  while (count < kFields) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const auto ns = parse_instant(line.substr(0, end), TimeUnit::kSeconds);
    if (!ns) break;
    values[count++] = ns->ns() / 1'000'000'000;
    line.remove_prefix(end);
  }
  return count;
}

std::optional<std::int64_t> known(std::int64_t value, std::int64_t most) {
  if (value < 0 || value > most) return std::nullopt;
  return value;
}

Outcome outcome_of(std::int64_t status) {
  switch (status) {
    case 0: return Outcome::kFailed;
    case 1: return Outcome::kCompleted;
    case 5: return Outcome::kCancelled;
    default: return Outcome::kUnknown;
  }
}

class SwfReader {
 public:
  explicit SwfReader(ImportRun& run) : run_(run) {
    for (const auto& [role, column] : run.map.columns) {
      if (role == Role::kGpus && column == "processors") processors_are_gpus_ = true;
    }
  }

  void comment(std::string_view line) {
    constexpr std::string_view kStart = "UnixStartTime:";
    const std::size_t at = line.find(kStart);
    if (at == std::string_view::npos) return;
    const auto seconds = parse_whole(stripped(line.substr(at + kStart.size())));
    if (seconds && *seconds > 0 && *seconds < kSecondsMax) origin_ = *seconds;
  }

  void row(std::string_view line) {
    std::array<std::int64_t, kFields> value{};
    if (numbers_of(line, value) < kFields) {
      run_.builder.count(RowFate::kSkipped, "not 18 numbers", run_.here(1), line);
      return;
    }
    JobRow row;
    std::array<std::string, 4> texts{std::to_string(value[kJob]), text(value[kUser]),
                                     text(value[kQueue]), text(value[kPartition])};
    row.id = texts[0];
    row.user = texts[1];
    row.queue = texts[2];
    row.pool = texts[3];
    row.outcome = outcome_of(value[kStatus]);
    const auto submit = known(value[kSubmit], kSecondsMax);
    const auto wait = known(value[kWait], kSecondsMax);
    const auto length = known(value[kRun], kSecondsMax);
    if (submit) row.submitted = Instant(Duration::seconds(origin_ + *submit).ns());
    if (submit && wait) {
      const Instant start = *row.submitted + Duration::seconds(*wait);
      const bool ran = value[kStatus] != 5 || length.value_or(0) > 0;
      if (ran) row.started = start;
      if (length) row.ended = start + Duration::seconds(*length);
    } else if (length) {
      row.run_told = Duration::seconds(*length);
    }
    if (const auto limit = known(value[kTimeWanted], kSecondsMax)) {
      row.limit_kind = TimeLimit::kSet;
      row.time_limit = Duration::seconds(*limit);
    }
    processors(row, value);
    run_.builder.add(row, run_.here());
  }

 private:
  static std::string text(std::int64_t value) {
    return value < 0 ? std::string() : std::to_string(value);
  }

  void processors(JobRow& row, const std::array<std::int64_t, kFields>& value) {
    const auto held = known(value[kProcessors], kCountMax);
    auto wanted = known(value[kProcessorsWanted], kCountMax);
    if (!wanted) wanted = held;
    if (const auto each = known(value[kMemoryUsed], std::int64_t{1} << 30); each && held) {
      row.memory_used = Bytes(*each * 1024 * std::max<std::int64_t>(*held, 1));
    }
    if (!processors_are_gpus_) {
      if (wanted) row.cpus_milli = *wanted * 1000;
      return;
    }
    const auto set = [&](std::optional<std::int64_t> count) {
      if (!count) return kGpusUnknown;
      return run_.builder.gpus().intern({{.model = {}, .partition = {}, .milli = *count * 1000}},
                                        run_.builder.names());
    };
    row.gpus_wanted = set(wanted);
    row.gpus_held = set(held);
  }

  ImportRun& run_;
  std::int64_t origin_ = 0;
  bool processors_are_gpus_ = false;
};

}  // namespace

bool is_swf(std::string_view sample) {
  while (!sample.empty()) {
    const std::size_t end = std::min(sample.find('\n'), sample.size());
    std::string_view line = sample.substr(0, end);
    sample.remove_prefix(std::min(end + 1, sample.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    line = stripped(line);
    if (line.empty() || line.front() == ';') continue;
    std::array<std::int64_t, kFields> values{};
    return numbers_of(line, values) == kFields;
  }
  return false;
}

Status import_swf(ImportRun& run) {
  SwfReader reader(run);
  std::string_view line;
  while (true) {
    const auto more = run.text.next_line(line);
    if (!more) return more.error();
    if (!*more) return {};
    line = stripped(line);
    if (line.empty()) continue;
    if (line.front() == ';') reader.comment(line);
    else reader.row(line);
  }
}

}  // namespace rota::history
