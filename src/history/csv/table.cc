#include "history/csv/table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "history/fields.h"

namespace rota::history {
namespace {

/// One table's rows, one after the other.
class TableReader {
 public:
  TableReader(ImportRun& run, const TableRules& rules, TableLayout layout, char separator)
      : run_(run), rules_(rules), layout_(layout), splitter_(separator, Quoting::kDouble) {}

  Status read_all() {
    std::string_view line;
    while (true) {
      const auto more = run_.text.next_line(line);
      if (!more) return more.error();
      if (!*more) return {};
      if (stripped(line).empty() || line.front() == '#') continue;
      read_row(line);
    }
  }

 private:
  void read_row(std::string_view line) {
    sound_ = true;
    if (!splitter_.split(line)) {
      skip("a double quote is never closed, or text follows it", splitter_.fault_column(), line);
      return;
    }
    if (splitter_.fields().size() != layout_.width) {
      skip("another number of fields than the first line", 1,
           std::to_string(splitter_.fields().size()) + " of " + std::to_string(layout_.width));
      return;
    }
    row_ = JobRow{};
    texts();
    times();
    if (sound_) amounts();
    if (!sound_) return;
    derive_times();
    if (rules_.finish) rules_.finish(splitter_.fields(), row_, run_);
    run_.builder.add(row_, run_.here());
  }

  /// Empty where the table has no such column, or nothing stands in it.
  [[nodiscard]] std::string_view value(Role role) const {
    const int at = layout_.of(role).at;
    if (at < 0) return {};
    const std::string_view text = splitter_.field(static_cast<std::size_t>(at));
    if (rules_.nothing == Nothing::kEmpty) return text;
    const bool told = text != "None" && text != "NULL" && text != "null" && text != "N/A" &&
                      text != "nan" && text != "NaN" && text != "Unknown" && text != "-";
    return told ? text : std::string_view();
  }

  [[nodiscard]] std::size_t column(Role role) const {
    return splitter_.column(static_cast<std::size_t>(std::max(layout_.of(role).at, 0)));
  }

  /// A row counts once, for the first of its values that skips it.
  void skip(std::string_view kind, std::size_t column, std::string_view what) {
    if (!sound_) return;
    run_.builder.count(RowFate::kSkipped, kind, run_.here(static_cast<std::int64_t>(column)),
                       what);
    sound_ = false;
  }
  void leave_out(Role role) {
    run_.builder.count(RowFate::kKept,
                       "the " + std::string(role_name(role)) + " cannot be read",
                       run_.here(static_cast<std::int64_t>(column(role))), value(role));
  }

  void texts() {
    row_.id = value(Role::kId);
    row_.name = value(Role::kName);
    row_.user = value(Role::kUser);
    row_.queue = value(Role::kQueue);
    row_.pool = value(Role::kPool);
    row_.job_class = value(Role::kClass);
    row_.cluster = value(Role::kCluster);
    row_.nodes = value(Role::kNodes);
    row_.reason = value(Role::kReason);
    const std::string_view state = value(Role::kState);
    if (state.empty()) return;
    if (const auto outcome = outcome_from(state)) row_.outcome = *outcome;
    else leave_out(Role::kState);
  }

  [[nodiscard]] std::optional<Instant> instant(Role role) {
    const std::string_view text = value(role);
    if (text.empty()) return std::nullopt;
    const auto instant = parse_instant(text, layout_.of(role).time_unit);
    if (!instant) skip("no time", column(role), std::string(role_name(role)) + " '" +
                                                    std::string(text) + "'");
    return instant;
  }
  [[nodiscard]] std::optional<Duration> length(Role role) {
    const std::string_view text = value(role);
    if (text.empty()) return std::nullopt;
    auto length = parse_length(text, layout_.of(role).time_unit);
    if (!length) {  // `1h30m`
      const auto words = parse_duration(text);
      if (words && *words >= Duration()) length = *words;
    }
    if (!length) skip("no length of time", column(role), std::string(role_name(role)) + " '" +
                                                             std::string(text) + "'");
    return length;
  }

  void times() {
    row_.submitted = instant(Role::kSubmit);
    row_.eligible = instant(Role::kEligible);
    row_.started = instant(Role::kStart);
    row_.ended = instant(Role::kEnd);
    row_.run_told = length(Role::kRun);
    wait_ = length(Role::kWait);
    row_.min_runtime = length(Role::kMinRuntime);
    const std::string_view limit = value(Role::kLimit);
    if (same_word(limit, "unlimited") || same_word(limit, "infinite")) {
      row_.limit_kind = TimeLimit::kNone;
    } else if (!limit.empty()) {
      row_.time_limit = length(Role::kLimit);
      row_.limit_kind = TimeLimit::kSet;
    }
  }

  void derive_times() {
    const auto run = row_.run_told;
    if (!row_.started && row_.submitted && wait_) row_.started = *row_.submitted + *wait_;
    if (!row_.started && row_.ended && run) row_.started = *row_.ended - *run;
    if (!row_.submitted && row_.started && wait_) row_.submitted = *row_.started - *wait_;
    if (!row_.ended && row_.started && run && row_.outcome != Outcome::kRunning) {
      row_.ended = *row_.started + *run;
    }
    if (run && row_.started && row_.ended && *row_.ended - *row_.started == *run) {
      row_.run_told.reset();
    }
  }

  void gpu_amount() {
    const std::string_view text = value(Role::kGpus);
    const std::string_view milli_text = value(Role::kGpuMilli);
    if (text.empty() && milli_text.empty()) return;
    std::string_view model = value(Role::kModel);
    if (model.find('|') != std::string_view::npos) model = {};  // several would do
    std::optional<std::int64_t> milli = text.empty() ? std::nullopt : parse_milli(text);
    if (!text.empty() && !milli) {
      const auto set = parse_gpu_set(text, run_.builder.gpus(), run_.builder.names());
      if (set) row_.gpus_wanted = *set;
      else skip("no number of GPUs", column(Role::kGpus), text);
      return;
    }
    if (!milli_text.empty()) {
      const auto part = parse_whole(milli_text);
      if (!part || *part < 0) {
        skip("no number of GPUs", column(Role::kGpuMilli), milli_text);
        return;
      }
      // Of one device; several are whole ones.
      if (!milli || *milli == 1000) milli = *part;
    }
    if (*milli > 1'000'000'000) {
      skip("no number of GPUs", column(Role::kGpus), text);
      return;
    }
    row_.gpus_wanted = set_of(model, *milli);
  }

  GpuSetId set_of(std::string_view model, std::int64_t milli) {
    NameTable& names = run_.builder.names();
    const DeviceType type = split_device_type(model);
    if (milli == last_milli_ && model == last_model_) return last_set_;
    last_set_ = run_.builder.gpus().intern(
        {{.model = names.intern(type.model), .partition = names.intern(type.partition),
          .milli = milli}},
        names);
    last_milli_ = milli;
    last_model_ = model;
    return last_set_;
  }

  void amounts() {
    gpu_amount();
    if (const auto text = value(Role::kCpus); !text.empty()) {
      row_.cpus_milli = parse_milli(text);
      if (!row_.cpus_milli) leave_out(Role::kCpus);
    } else if (const auto milli = value(Role::kCpuMilli); !milli.empty()) {
      row_.cpus_milli = parse_whole(milli);
      if (!row_.cpus_milli) leave_out(Role::kCpuMilli);
    }
    row_.memory = memory(Role::kMemory);
    row_.memory_used = memory(Role::kMemoryUsed);
    row_.node_count = whole(Role::kNodeCount);
    row_.nodes_wanted = row_.node_count;
    row_.priority = whole(Role::kPriority);
    exit();
    if (const auto text = value(Role::kBusy); !text.empty()) {
      const auto percent = parse_milli(text);
      if (percent && *percent <= 100'000) row_.gpu_busy_permille = *percent / 100;
      else leave_out(Role::kBusy);
    }
  }

  std::optional<Bytes> memory(Role role) {
    const std::string_view text = value(role);
    if (text.empty()) return std::nullopt;
    const auto bytes = parse_amount_bytes(text, layout_.of(role).memory_unit);
    if (!bytes) leave_out(role);
    return bytes;
  }
  std::optional<std::int64_t> whole(Role role) {
    const std::string_view text = value(role);
    if (text.empty()) return std::nullopt;
    const auto number = parse_whole(text);
    if (!number) leave_out(role);
    return number;
  }
  /// `3`, or Slurm's `3:0` (code and signal).
  void exit() {
    const std::string_view text = value(Role::kExit);
    if (text.empty()) return;
    const std::size_t colon = text.find(':');
    row_.exit_code = parse_whole(text.substr(0, colon));
    if (colon != std::string_view::npos) row_.signal = parse_whole(text.substr(colon + 1));
    if (!row_.exit_code) leave_out(Role::kExit);
  }

  ImportRun& run_;
  const TableRules& rules_;
  TableLayout layout_;
  FieldSplitter splitter_;
  JobRow row_;
  std::optional<Duration> wait_;
  bool sound_ = true;
  std::string last_model_;
  std::int64_t last_milli_ = -1;
  GpuSetId last_set_;
};

}  // namespace

std::vector<std::string> header_of(std::string_view sample) {
  const std::string_view line = first_line(sample);
  FieldSplitter splitter(separator_of(line), Quoting::kDouble);
  if (line.empty() || !splitter.split(line)) return {};
  return {splitter.fields().begin(), splitter.fields().end()};
}

bool header_has(std::string_view sample, std::span<const std::string_view> names) {
  const std::vector<std::string> header = header_of(sample);
  return std::all_of(names.begin(), names.end(),
                     [&](std::string_view name) { return field_named(header, name) >= 0; });
}

Status import_table(ImportRun& run, const TableRules& rules) {
  std::string_view line;
  do {
    const auto more = run.text.next_line(line);
    if (!more) return more.error();
    if (!*more) return run.text.error_at(1, "the file is empty; its first line names the columns");
  } while (stripped(line).empty() || line.front() == '#');
  const std::vector<std::string> header = header_of(line);
  if (header.empty()) return run.text.error_at(1, "the first line does not name columns");
  const auto layout = layout_of(header, run.map, rules.words, rules.time_unit);
  if (!layout) return run.text.error_at(1, layout.error().message);
  for (const TableLayout::Column& column : layout->columns) {
    if (column.at < 0) continue;
    const std::string& name = header[static_cast<std::size_t>(column.at)];
    if (std::count(header.begin(), header.end(), name) < 2) continue;
    return run.text.error_at(1, "the column '" + name + "' is there twice; rename one of them");
  }
  const std::string lack = lacking(*layout);
  if (!lack.empty()) {
    return run.text.error_at(
        1, "the table lacks " + lack + "; its first line names " + join(header, ", ") +
               ". Say which column it is with --map, like --map submit=created,run=took");
  }
  if (rules.begin) rules.begin(header);
  return TableReader(run, rules, *layout, separator_of(line)).read_all();
}

}  // namespace rota::history
