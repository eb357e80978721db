#include "history/csv/rota_csv.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "history/csv/table.h"
#include "history/fields.h"
#include "report/csv.h"

namespace rota::history {
namespace {

constexpr auto kColumns = std::to_array<std::string_view>({
    "job", "attempt", "cluster", "name", "user", "queue", "pool", "class", "interactive",
    "priority", "gpus_wanted", "cpus", "memory_bytes", "nodes_wanted", "time_limit_seconds",
    "min_runtime_seconds", "submitted", "eligible", "started", "ended", "run_seconds", "outcome",
    "exit_code", "signal", "gpus_held", "nodes", "node_count", "reason", "memory_used_bytes",
    "gpu_memory_used_bytes", "gpu_busy_percent"});

constexpr auto kWords = std::to_array<ColumnWord>({
    {"job", Role::kId}, {"cluster", Role::kCluster}, {"name", Role::kName}, {"user", Role::kUser},
    {"queue", Role::kQueue}, {"pool", Role::kPool}, {"class", Role::kClass},
    {"priority", Role::kPriority}, {"gpus_wanted", Role::kGpus}, {"cpus", Role::kCpus},
    {"memory_bytes", Role::kMemory, 1}, {"time_limit_seconds", Role::kLimit},
    {"min_runtime_seconds", Role::kMinRuntime}, {"submitted", Role::kSubmit},
    {"eligible", Role::kEligible}, {"started", Role::kStart}, {"ended", Role::kEnd},
    {"run_seconds", Role::kRun}, {"outcome", Role::kState}, {"exit_code", Role::kExit},
    {"nodes", Role::kNodes}, {"node_count", Role::kNodeCount}, {"reason", Role::kReason},
    {"memory_used_bytes", Role::kMemoryUsed, 1}, {"gpu_busy_percent", Role::kBusy},
});

/// A decimal of `value` thousandths.
std::string milli_text(std::int64_t value) { return format_gpus(MilliGpu(value)); }

std::string seconds_text(Duration length) {
  std::string text = std::to_string(length.whole_seconds());
  const std::int64_t rest = length.ns() % 1'000'000'000;
  if (rest == 0) return text;
  std::string digits = std::to_string(1'000'000'000 + rest).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

std::string bytes_text(Maybe<Bytes> bytes) {
  return bytes ? std::to_string((*bytes).value()) : std::string();
}

class Writer {
 public:
  Writer(const JobHistory& history, std::ostream& output) : history_(history), output_(output) {}

  void write() {
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      line_ += i == 0 ? "" : ",";
      line_ += kColumns[i];
    }
    end_line();
    for (const JobRecord& job : history_.jobs()) {
      std::int64_t number = 0;
      for (const AttemptRecord& attempt : history_.attempts_of(job)) row(job, attempt, ++number);
    }
  }

 private:
  void end_line() {
    output_ << line_ << '\n';
    line_.clear();
    first_ = true;
  }
  void plain(std::string_view text) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += text;
  }
  void text(std::string_view text) {
    std::string field = report::csv_field(without_control(text));
    if (!field.empty() && field.front() == '#') field = "\"" + field + "\"";
    plain(field);
  }
  void name(Name name) { text(history_.text(name)); }
  void instant(Maybe<Instant> at) { plain(at ? instant_text(*at) : std::string()); }
  void number(std::int64_t value, std::int64_t absent) {
    plain(value == absent ? std::string() : std::to_string(value));
  }
  void gpus(GpuSetId set) { text(gpu_set_text(history_.gpus(), history_.names(), set)); }
  void length(Maybe<Duration> length) { plain(length ? seconds_text(*length) : std::string()); }

  void row(const JobRecord& job, const AttemptRecord& attempt, std::int64_t number_of) {
    text(history_.id_text(job.key));
    number(number_of, 0);
    for (const Name told : {job.cluster, job.name, job.user, job.queue, job.pool, job.job_class}) {
      name(told);
    }
    plain(job.interactive ? "yes" : "");
    number(job.priority ? *job.priority : kAbsent, kAbsent);
    gpus(job.gpus);
    plain(job.cpus_milli < 0 ? std::string() : milli_text(job.cpus_milli));
    plain(bytes_text(job.memory));
    number(job.nodes, 0);
    if (job.limit_kind == TimeLimit::kNone) plain("unlimited");
    else length(job.time_limit);
    length(job.min_runtime);
    instant(attempt.queued);
    instant(attempt.eligible);
    instant(attempt.started);
    instant(attempt.ended);
    length(attempt.run_told);
    plain(attempt.outcome == Outcome::kUnknown ? "" : outcome_name(attempt.outcome));
    number(attempt.exit_code, -1);
    number(attempt.signal, 0);
    gpus(attempt.gpus);
    name(attempt.nodes);
    number(attempt.node_count, 0);
    name(attempt.reason);
    plain(bytes_text(attempt.memory_used));
    plain(bytes_text(attempt.gpu_memory_used));
    plain(attempt.gpu_busy_permille < 0 ? std::string()
                                        : milli_text(attempt.gpu_busy_permille * 100));
    end_line();
  }

  const JobHistory& history_;
  std::ostream& output_;
  std::string line_;
  bool first_ = true;
};

/// Columns that other tables do not have.
struct OwnColumns {
  int interactive = -1;
  int nodes_wanted = -1;
  int signal = -1;
  int gpus_held = -1;
  int gpu_memory_used = -1;
};

}  // namespace

void write_history_csv(const JobHistory& history, std::ostream& output) {
  Writer(history, output).write();
}

bool is_rota_csv(std::string_view sample) {
  return header_has(sample, std::to_array<std::string_view>({"job", "attempt", "gpus_held",
                                                             "outcome"}));
}

Status import_rota_csv(ImportRun& run) {
  const auto own = std::make_shared<OwnColumns>();
  TableRules rules;
  rules.words = kWords;
  rules.nothing = Nothing::kEmpty;
  rules.begin = [own](const std::vector<std::string>& header) {
    own->interactive = field_named(header, "interactive");
    own->nodes_wanted = field_named(header, "nodes_wanted");
    own->signal = field_named(header, "signal");
    own->gpus_held = field_named(header, "gpus_held");
    own->gpu_memory_used = field_named(header, "gpu_memory_used_bytes");
  };
  rules.finish = [own](const std::vector<std::string_view>& fields, JobRow& row, ImportRun& at) {
    const auto text = [&](int column) {
      return column < 0 ? std::string_view() : fields[static_cast<std::size_t>(column)];
    };
    row.interactive = text(own->interactive) == "yes";
    row.nodes_wanted = parse_whole(text(own->nodes_wanted));
    row.signal = parse_whole(text(own->signal));
    row.gpu_memory_used = parse_amount_bytes(text(own->gpu_memory_used), 1);
    const auto held = parse_gpu_set(text(own->gpus_held), at.builder.gpus(), at.builder.names());
    if (held) row.gpus_held = *held;
    else at.builder.count(RowFate::kKept, "the gpus_held cannot be read", at.here(), row.id);
  };
  return import_table(run, rules);
}

}  // namespace rota::history
