#include "history/job_csv.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace rota::history {
namespace {

constexpr std::array<std::array<std::string_view, 4>, 4> kColumnNames{{
    {"timestamp", "submit_time", "submitted", ""},
    {"duration", "runtime", "run_seconds", ""},
    {"num_gpus", "num_gpu", "gpus", ""},
    {"cluster", "team", "queue", "account"},
}};
constexpr std::array<std::string_view, 4> kRoleWords{"submit time", "run time", "GPUs", "team"};
constexpr std::int64_t kGpusMax = 1'000'000;
constexpr Duration kRuntimeMax = Duration::days(36'500);
constexpr std::int64_t kSecondsMax = 4'000'000'000;  // up to the year 2096

}  // namespace

JobCsvReader::JobCsvReader(std::istream& input, std::string file, TimeUnit unit)
    : lines_(input, std::move(file)), unit_(unit) {}

Status JobCsvReader::read_header() {
  const auto fields = lines_.next();
  if (!fields) return fields.error();
  for (int role = 0; role < kRoles; ++role) {
    const auto at = static_cast<std::size_t>(role);
    column_of_[role] = column_of(*fields, {kColumnNames[at].begin(), kColumnNames[at].end()});
    if (column_of_[role] >= 0 || role == static_cast<int>(Role::kTeam)) continue;
    return lines_.error_at(1, "no column for the " + std::string(kRoleWords[at]) +
                                  "; expected '" + std::string(kColumnNames[at][0]) + "', '" +
                                  std::string(kColumnNames[at][1]) + "' or '" +
                                  std::string(kColumnNames[at][2]) + "' in the first line");
  }
  return {};
}

Result<std::int64_t> JobCsvReader::time_of(const CsvField& field, std::string_view what) const {
  if (const auto civil = parse_civil_seconds(field.text)) return *civil * 1'000'000'000;
  const bool millis = unit_ == TimeUnit::kMilliseconds;
  const auto scaled = parse_fixed(field.text, millis ? 6 : 9);
  if (!scaled || *scaled < 0 || *scaled / 1'000'000'000 > kSecondsMax) {
    return lines_.error_at(field.column, std::string(what) + " '" + field.text +
                                      "' is no time; expected `2017-10-09 07:01:55` or a " +
                                      "number of " + (millis ? "milliseconds" : "seconds"));
  }
  return *scaled;
}

Result<HistoryJob> JobCsvReader::job_of(const std::vector<CsvField>& fields) const {
  const auto field = [&](Role role) -> const CsvField& {
    return fields[static_cast<std::size_t>(column_of_[static_cast<int>(role)])];
  };
  HistoryJob job;
  const auto submitted = time_of(field(Role::kSubmitted), "the submit time");
  if (!submitted) return submitted.error();
  const CsvField& runtime_field = field(Role::kRuntime);
  const auto runtime = time_of(runtime_field, "the run time");
  if (!runtime) return runtime.error();
  if (parse_civil_seconds(runtime_field.text)) {
    return lines_.error_at(runtime_field.column, "the run time must be a number, not a date");
  }
  if (Duration(*runtime) > kRuntimeMax) {
    return lines_.error_at(runtime_field.column, "the run time '" + runtime_field.text +
                                                     "' is longer than 36500 days");
  }
  const CsvField& gpus_field = field(Role::kGpus);
  const auto gpus = parse_int(gpus_field.text);
  if (!gpus || *gpus < 0 || *gpus > kGpusMax) {
    return lines_.error_at(gpus_field.column,
                           "'" + gpus_field.text + "' is no number of GPUs; expected a whole " +
                               "number from 0 to 1000000");
  }
  job.row = row_;
  job.submitted = Instant(*submitted);
  job.runtime = Duration(*runtime);
  job.gpus = *gpus;
  if (column_of_[static_cast<int>(Role::kTeam)] >= 0) job.team = field(Role::kTeam).text;
  return job;
}

Result<std::optional<HistoryJob>> JobCsvReader::next() {
  if (failed_) return std::optional<HistoryJob>();
  if (!header_read_) {
    if (auto status = read_header(); !status) {
      failed_ = true;
      return status.error();
    }
    header_read_ = true;
  }
  const auto fields = lines_.next();
  if (fields && fields->empty()) return std::optional<HistoryJob>();
  ++row_;
  auto job = fields ? job_of(*fields) : Result<HistoryJob>(fields.error());
  if (!job) {
    failed_ = true;
    return job.error();
  }
  return std::optional<HistoryJob>(std::move(*job));
}

Result<std::vector<HistoryJob>> read_job_csv(std::istream& input, const std::string& file,
                                             TimeUnit unit) {
  JobCsvReader reader(input, file, unit);
  std::vector<HistoryJob> jobs;
  while (true) {
    auto job = reader.next();
    if (!job) return job.error();
    if (!job->has_value()) break;
    jobs.push_back(std::move(**job));
  }
  std::sort(jobs.begin(), jobs.end(), [](const HistoryJob& a, const HistoryJob& b) {
    return std::pair(a.submitted, a.row) < std::pair(b.submitted, b.row);
  });
  return jobs;
}

}  // namespace rota::history
