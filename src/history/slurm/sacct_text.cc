// `sacct -P` with any columns, with or without -D. One line an attempt, and one for each of its
// steps. Fields are never quoted; the separator is what stands between the names of the header.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "history/fields.h"
#include "history/importer.h"
#include "history/slurm/tres.h"
#include "history/slurm/verdict.h"
#include "history/words.h"

namespace rota::history {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::string_view kExport = "`sacct -a -D -P -o ALL`";

/// Columns of sacct that are used.
enum class Field : std::uint8_t {
  kJobId, kJobIdRaw, kJobName, kUser, kUid, kAccount, kPartition, kQos, kCluster, kState,
  kSubmit, kEligible, kStart, kEnd, kElapsed, kElapsedRaw, kReserved, kPlanned, kTimelimit,
  kTimelimitRaw, kAllocTres, kReqTres, kAllocGres, kReqGres, kNodeList, kNNodes, kAllocNodes,
  kReqNodes, kAllocCpus, kReqCpus, kReqMem, kExitCode, kReason, kPriority, kMaxRss, kUsageAve,
  kUsageMax, kSuspended, kSubmitLine, kRestarts,
};
constexpr auto kFieldNames = std::to_array<std::string_view>({
    "JobID", "JobIDRaw", "JobName", "User", "UID", "Account", "Partition", "QOS", "Cluster",
    "State", "Submit", "Eligible", "Start", "End", "Elapsed", "ElapsedRaw", "Reserved", "Planned",
    "Timelimit", "TimelimitRaw", "AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES", "NodeList",
    "NNodes", "AllocNodes", "ReqNodes", "AllocCPUS", "ReqCPUS", "ReqMem", "ExitCode", "Reason",
    "Priority", "MaxRSS", "TRESUsageInAve", "TRESUsageInMax", "Suspended", "SubmitLine",
    "Restarts"});
constexpr std::size_t kFields = kFieldNames.size();

char separator_in(std::string_view header) {
  for (const char c : header) {
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    if (!letter) return c;
  }
  return '|';
}

class SacctReader {
 public:
  SacctReader(ImportRun& run, char separator)
      : run_(run), splitter_(separator, Quoting::kNone),
        tres_(run.builder.gpus(), run.builder.names()) {
    at_.fill(-1);
  }

  Status read_header(std::string_view line) {
    if (!splitter_.split(line)) return run_.text.error_at(1, "the first line names no columns");
    const std::vector<std::string> header(splitter_.fields().begin(), splitter_.fields().end());
    for (std::size_t i = 0; i < kFields; ++i) at_[i] = field_named(header, kFieldNames[i]);
    width_ = header.size();
    if (!has(Field::kJobId) && !has(Field::kJobIdRaw)) {
      return run_.text.error_at(1, "no column JobID or JobIDRaw; export with " +
                                       std::string(kExport));
    }
    if (!has(Field::kSubmit) && !has(Field::kStart)) {
      return run_.text.error_at(1, "no column Submit or Start; export with " +
                                       std::string(kExport));
    }
    return {};
  }

  Status read_all() {
    std::string_view line;
    while (true) {
      const auto more = run_.text.next_line(line);
      if (!more) return more.error();
      if (!*more) break;
      if (!stripped(line).empty()) read_row(line);
    }
    remark();
    return {};
  }

 private:
  [[nodiscard]] bool has(Field field) const { return at_[static_cast<std::size_t>(field)] >= 0; }
  [[nodiscard]] std::string_view value(Field field) const {
    const int at = at_[static_cast<std::size_t>(field)];
    return at < 0 ? std::string_view() : splitter_.field(static_cast<std::size_t>(at));
  }
  /// Empty where Slurm writes a word for nothing.
  [[nodiscard]] std::string_view told(Field field) const {
    const std::string_view text = value(field);
    return is_slurm_nothing(text) ? std::string_view() : text;
  }
  [[nodiscard]] std::int64_t column(Field field) const {
    const int at = std::max(at_[static_cast<std::size_t>(field)], 0);
    return static_cast<std::int64_t>(splitter_.column(static_cast<std::size_t>(at)));
  }

  void read_row(std::string_view line) {
    if (!splitter_.split(line)) return;
    std::size_t count = splitter_.fields().size();
    if (count == width_ + 1 && splitter_.fields().back().empty()) --count;  // sacct -p
    if (count != width_) {
      run_.builder.count(RowFate::kSkipped, "another number of fields than the first line",
                         run_.here(1),
                         std::to_string(count) + " of " + std::to_string(width_) +
                             "; a name or a comment may hold the separator");
      return;
    }
    const StepId id = step_id(value(has(Field::kJobId) ? Field::kJobId : Field::kJobIdRaw));
    if (id.is_step) return read_step(id.job);
    if (id.job.empty() || id.job.front() < '0' || id.job.front() > '9') {
      run_.builder.count(RowFate::kSkipped, "no job id", run_.here(1), id.job);
      return;
    }
    read_attempt(id.job);
  }

  void read_attempt(std::string_view id) {
    row_ = JobRow{};
    sound_ = true;
    row_.id = id;
    texts();
    times();
    if (!sound_) return;
    amounts();
    const bool had_nodes = !told(Field::kNodeList).empty() || !told(Field::kAllocTres).empty() ||
                           !(has(Field::kNodeList) || has(Field::kAllocTres));
    settle_unstarted(row_, had_nodes);
    if (!row_.started) row_.gpus_held = kGpusUnknown;
    if (id.find('[') != std::string_view::npos) {
      run_.builder.count(RowFate::kKept, "several waiting tasks of an array in one row",
                         run_.here(1), id);
    }
    restarted_ = restarted_ || parse_whole(told(Field::kRestarts)).value_or(0) > 0;
    last_step_ = Duration(-1);
    run_.builder.add(row_, run_.here());
    has_jobs_ = true;
  }

  void texts() {
    row_.name = value(Field::kJobName);
    row_.user = told(Field::kUser).empty() ? told(Field::kUid) : told(Field::kUser);
    row_.queue = told(Field::kAccount);
    row_.pool = told(Field::kPartition);
    row_.job_class = told(Field::kQos);
    row_.cluster = told(Field::kCluster);
    row_.nodes = told(Field::kNodeList);
    row_.reason = told(Field::kReason);
    const std::string_view line = told(Field::kSubmitLine);
    row_.interactive = line.starts_with("salloc") || line.find("--pty") != std::string_view::npos ||
                       row_.name == "interactive";
    const std::string_view state = told(Field::kState);
    if (const auto outcome = outcome_from(state.substr(0, state.find(' ')))) {
      row_.outcome = *outcome;
    } else if (!state.empty()) {
      run_.builder.count(RowFate::kKept, "the state is not known", run_.here(column(Field::kState)),
                         state);
    }
  }

  std::optional<Instant> instant(Field field) {
    const std::string_view text = told(field);
    if (text.empty()) return std::nullopt;
    const auto instant = parse_instant(text, TimeUnit::kSeconds);
    if (instant || !sound_) return instant;  // a row counts once
    run_.builder.count(RowFate::kSkipped, "no time", run_.here(column(field)),
                       std::string(kFieldNames[static_cast<std::size_t>(field)]) + " '" +
                           std::string(text) + "'");
    sound_ = false;
    return std::nullopt;
  }

  /// Times without a zone jump by an hour where summer time begins or ends; Elapsed does not.
  void mend_end(Duration elapsed) {
    const Duration off = *row_.ended - *row_.started - elapsed;
    if (off != Duration::hours(1) && off != Duration::hours(-1)) return;
    row_.ended = *row_.started + elapsed;
    run_.builder.count(RowFate::kKept,
                       "ran while the clock was put forward or back; ended at Start + Elapsed "
                       "(TZ=UTC sacct writes times that do not jump)",
                       run_.here(column(Field::kEnd)), told(Field::kEnd));
  }

  void times() {
    row_.submitted = instant(Field::kSubmit);
    row_.eligible = instant(Field::kEligible);
    row_.started = instant(Field::kStart);
    row_.ended = instant(Field::kEnd);
    const std::string_view planned =
        has(Field::kPlanned) ? told(Field::kPlanned) : told(Field::kReserved);
    const auto waited = parse_length(planned, TimeUnit::kSeconds);
    if (!row_.submitted && row_.started && waited) row_.submitted = *row_.started - *waited;
    auto elapsed = parse_length(told(Field::kElapsedRaw), TimeUnit::kSeconds);
    if (!elapsed) elapsed = parse_length(told(Field::kElapsed), TimeUnit::kSeconds);
    if (row_.started && !row_.ended && elapsed && has_ended(row_.outcome)) {
      row_.ended = *row_.started + *elapsed;
    }
    // Suspended time is no run time; only then does Elapsed differ from end - start.
    const auto suspended = parse_length(told(Field::kSuspended), TimeUnit::kSeconds);
    if (elapsed && suspended && suspended->ns() > 0) row_.run_told = elapsed;
    else if (elapsed && row_.started && row_.ended && has_ended(row_.outcome)) mend_end(*elapsed);
    const std::string_view limit = told(Field::kTimelimit);
    if (same_word(limit, "UNLIMITED")) {
      row_.limit_kind = TimeLimit::kNone;
    } else if (const auto length = parse_length(limit, TimeUnit::kMinutes)) {
      row_.limit_kind = TimeLimit::kSet;
      row_.time_limit = length;
    } else if (const auto minutes = parse_length(told(Field::kTimelimitRaw), TimeUnit::kMinutes)) {
      row_.limit_kind = TimeLimit::kSet;
      row_.time_limit = minutes;
    }
  }

  void amounts() {
    const Tres wanted = tres_.read(told(Field::kReqTres));
    const Tres held = tres_.read(told(Field::kAllocTres));
    row_.gpus_wanted = wanted.gpus;
    row_.gpus_held = held.gpus;
    if (!held.gpus.known()) row_.gpus_held = tres_.read_gres(told(Field::kAllocGres));
    if (!wanted.gpus.known()) row_.gpus_wanted = tres_.read_gres(told(Field::kReqGres));
    row_.cpus_milli = wanted.cpus_milli ? wanted.cpus_milli : held.cpus_milli;
    if (!row_.cpus_milli) row_.cpus_milli = parse_milli(told(Field::kReqCpus));
    if (!row_.cpus_milli) row_.cpus_milli = parse_milli(told(Field::kAllocCpus));
    row_.nodes_wanted = wanted.nodes ? wanted.nodes : parse_whole(told(Field::kReqNodes));
    row_.node_count = held.nodes ? held.nodes : parse_whole(told(Field::kAllocNodes));
    if (!row_.node_count) row_.node_count = parse_whole(told(Field::kNNodes));
    row_.memory = wanted.memory ? wanted.memory : requested_memory();
    row_.priority = parse_whole(told(Field::kPriority));
    const std::string_view exit = told(Field::kExitCode);
    row_.exit_code = parse_whole(exit.substr(0, exit.find(':')));
    const std::size_t colon = exit.find(':');
    if (colon != std::string_view::npos) row_.signal = parse_whole(exit.substr(colon + 1));
  }

  /// `4000M`; older releases add `c` (each CPU) or `n` (each node).
  [[nodiscard]] std::optional<Bytes> requested_memory() const {
    std::string_view text = told(Field::kReqMem);
    std::int64_t times = 1;
    if (!text.empty() && (text.back() == 'c' || text.back() == 'n')) {
      times = text.back() == 'c' ? row_.cpus_milli.value_or(1000) / 1000
                                 : row_.node_count.value_or(1);
      text.remove_suffix(1);
    }
    const auto each = parse_amount_bytes(text, kMiB);
    if (!each || times < 1 || each->value() > (std::int64_t{1} << 60) / times) return std::nullopt;
    return *each * times;
  }

  /// Steps are no jobs; what they tell of use goes to their attempt.
  void read_step(std::string_view job) {
    run_.builder.count(RowFate::kPassedOver, "a step of a job", run_.here());
    AttemptRecord* attempt = run_.builder.latest_attempt_of(job, told(Field::kCluster));
    if (attempt == nullptr) return;
    const auto resident = parse_amount_bytes(told(Field::kMaxRss), 1024);
    if (resident && (!attempt->memory_used || attempt->memory_used < Maybe<Bytes>(*resident))) {
      attempt->memory_used = *resident;
    }
    const std::string_view gpu_memory = tres_value(value(Field::kUsageMax), "gres/gpumem");
    const auto of_gpu = parse_amount_bytes(gpu_memory, kMiB);
    if (of_gpu && (!attempt->gpu_memory_used || attempt->gpu_memory_used < Maybe<Bytes>(*of_gpu))) {
      attempt->gpu_memory_used = *of_gpu;
    }
    const auto busy = parse_milli(tres_value(value(Field::kUsageAve), "gres/gpuutil"));
    const auto elapsed = parse_length(told(Field::kElapsed), TimeUnit::kSeconds);
    const Duration length = elapsed.value_or(Duration());
    if (busy && length > last_step_) {  // the longest step speaks for the job
      attempt->gpu_busy_permille =
          static_cast<std::int16_t>(std::min<std::int64_t>(*busy / 100, 1000));
      last_step_ = length;
    }
  }

  void remark() {
    ImportNotes& notes = run_.builder.notes();
    if (!has(Field::kAllocTres) && !has(Field::kAllocGres)) {
      notes.remark("no column AllocTRES: what jobs held on GPUs is not known; export with -o ALL");
    } else if (has_jobs_ && !tres_.saw_devices()) {
      notes.remark("no job shows a GPU: Slurm counts them only with "
                   "AccountingStorageTRES=gres/gpu in slurm.conf");
    }
    if (!has(Field::kSubmit)) notes.remark("no column Submit: waits are not known");
    if (restarted_) {
      notes.remark("some jobs were restarted: only an export with -D (--duplicates) shows their "
                   "earlier attempts");
    }
  }

  ImportRun& run_;
  FieldSplitter splitter_;
  TresReader tres_;
  std::array<int, kFields> at_{};
  std::size_t width_ = 0;
  JobRow row_;
  bool sound_ = true;
  bool has_jobs_ = false;
  bool restarted_ = false;
  Duration last_step_{-1};
};

}  // namespace

bool is_sacct_text(std::string_view sample) {
  const std::string_view line = first_line(sample);
  FieldSplitter splitter(separator_in(line), Quoting::kNone);
  if (line.empty() || !splitter.split(line)) return false;
  const std::vector<std::string> header(splitter.fields().begin(), splitter.fields().end());
  const bool has_id = std::find(header.begin(), header.end(), "JobID") != header.end() ||
                      std::find(header.begin(), header.end(), "JobIDRaw") != header.end();
  const auto known = std::count_if(header.begin(), header.end(), [](const std::string& name) {
    return std::find(kFieldNames.begin(), kFieldNames.end(), name) != kFieldNames.end();
  });
  return has_id && known >= 3;
}

Status import_sacct_text(ImportRun& run) {
  std::string_view line;
  do {
    const auto more = run.text.next_line(line);
    if (!more) return more.error();
    if (!*more) return run.text.error_at(1, "the file is empty; its first line names the columns");
  } while (stripped(line).empty());
  SacctReader reader(run, separator_in(line));
  if (auto status = reader.read_header(line); !status) return status;
  return reader.read_all();
}

}  // namespace rota::history
