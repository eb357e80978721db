#include "history/csv/column_map.h"

#include <algorithm>

#include "base/text.h"
#include "history/fields.h"

namespace rota::history {
namespace {

constexpr std::array<std::string_view, kRoles> kRoleNames{
    "id",       "name",      "user",  "queue", "pool",     "class",  "cluster",     "state",
    "exit",     "reason",    "nodes", "submit", "eligible", "start", "end",         "run",
    "wait",     "limit",     "min_runtime", "gpus", "gpu_milli", "model", "cpus",   "cpu_milli",
    "memory",   "memory_used", "node_count", "priority", "busy"};

constexpr std::int64_t kKiB = 1024, kMiB = kKiB * 1024, kGiB = kMiB * 1024;

constexpr auto kKnown = std::to_array<ColumnWord>({
    {"id", Role::kId}, {"job_id", Role::kId}, {"jobid", Role::kId}, {"job", Role::kId},
    {"name", Role::kName}, {"job_name", Role::kName}, {"jobname", Role::kName},
    {"user", Role::kUser}, {"user_name", Role::kUser}, {"username", Role::kUser},
    {"owner", Role::kUser},
    {"queue", Role::kQueue}, {"team", Role::kQueue}, {"account", Role::kQueue},
    {"project", Role::kQueue}, {"vc", Role::kQueue}, {"namespace", Role::kQueue},
    {"group", Role::kQueue},
    {"pool", Role::kPool}, {"partition", Role::kPool},
    {"class", Role::kClass}, {"job_class", Role::kClass}, {"qos", Role::kClass},
    {"job_type", Role::kClass},
    {"cluster", Role::kCluster},
    {"state", Role::kState}, {"status", Role::kState}, {"outcome", Role::kState},
    {"exit", Role::kExit}, {"exit_code", Role::kExit},
    {"reason", Role::kReason},
    {"nodes", Role::kNodes}, {"node_list", Role::kNodes}, {"nodelist", Role::kNodes},
    {"submit", Role::kSubmit}, {"submitted", Role::kSubmit}, {"submit_time", Role::kSubmit},
    {"created", Role::kSubmit}, {"creation_time", Role::kSubmit}, {"timestamp", Role::kSubmit},
    {"submitted_time", Role::kSubmit}, {"arrival_time", Role::kSubmit},
    {"t", Role::kSubmit},
    {"eligible", Role::kEligible}, {"eligible_time", Role::kEligible},
    {"start", Role::kStart}, {"started", Role::kStart}, {"start_time", Role::kStart},
    {"scheduled_time", Role::kStart},
    {"end", Role::kEnd}, {"ended", Role::kEnd}, {"end_time", Role::kEnd},
    {"finished", Role::kEnd}, {"finish_time", Role::kEnd}, {"deletion_time", Role::kEnd},
    {"run", Role::kRun}, {"duration", Role::kRun}, {"dur", Role::kRun}, {"runtime", Role::kRun},
    {"run_time", Role::kRun}, {"elapsed", Role::kRun},
    {"wait", Role::kWait}, {"wait_time", Role::kWait},
    {"limit", Role::kLimit}, {"time_limit", Role::kLimit}, {"timelimit", Role::kLimit},
    {"walltime", Role::kLimit},
    {"min_runtime", Role::kMinRuntime},
    {"gpus", Role::kGpus}, {"gpu", Role::kGpus}, {"num_gpus", Role::kGpus},
    {"num_gpu", Role::kGpus}, {"gpu_num", Role::kGpus}, {"gpu_count", Role::kGpus},
    {"ngpus", Role::kGpus}, {"fraction", Role::kGpus},
    {"gpu_milli", Role::kGpuMilli},
    {"model", Role::kModel}, {"gpu_type", Role::kModel}, {"gpu_model", Role::kModel},
    {"type", Role::kModel},
    {"cpus", Role::kCpus}, {"num_cpus", Role::kCpus}, {"cpu_num", Role::kCpus},
    {"cpu_milli", Role::kCpuMilli},
    {"memory", Role::kMemory}, {"mem", Role::kMemory},
    {"memory_bytes", Role::kMemory, 1},
    {"memory_used", Role::kMemoryUsed},
    {"node_count", Role::kNodeCount}, {"node_num", Role::kNodeCount},
    {"num_nodes", Role::kNodeCount},
    {"priority", Role::kPriority},
    {"busy", Role::kBusy}, {"utilization", Role::kBusy}, {"gpu_utilization", Role::kBusy},
});

struct UnitWord {
  std::string_view word;
  TimeUnit unit;
};
constexpr auto kTimeUnits = std::to_array<UnitWord>({
    {"s", TimeUnit::kSeconds}, {"sec", TimeUnit::kSeconds}, {"seconds", TimeUnit::kSeconds},
    {"ms", TimeUnit::kMilliseconds}, {"us", TimeUnit::kMicroseconds},
    {"ns", TimeUnit::kNanoseconds}, {"min", TimeUnit::kMinutes}, {"minutes", TimeUnit::kMinutes},
    {"h", TimeUnit::kHours}, {"hours", TimeUnit::kHours},
});
struct MemoryWord {
  std::string_view word;
  std::int64_t bytes;
};
constexpr auto kMemoryUnits = std::to_array<MemoryWord>({
    {"b", 1}, {"bytes", 1}, {"kib", kKiB}, {"kb", kKiB}, {"mib", kMiB}, {"mb", kMiB},
    {"gib", kGiB}, {"gb", kGiB},
});

bool is_memory(Role role) { return role == Role::kMemory || role == Role::kMemoryUsed; }
bool is_time(Role role) { return role >= Role::kSubmit && role <= Role::kMinRuntime; }

Error bad(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::string did_you_mean(std::string_view near) {
  return near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)";
}

Error no_column(const std::pair<Role, std::string>& mapped,
                const std::vector<std::string>& header) {
  const auto& [role, name] = mapped;
  return bad(std::string(role_name(role)) + "=" + name + ": there is no column '" + name + "'" +
             did_you_mean(nearest_word(name, header)) + "; the first line names " +
             join(header, ", "));
}

Status take_unit(ColumnMap& map, std::string_view key, std::string_view value) {
  if (key == "time_unit") {
    for (const UnitWord& known : kTimeUnits) {
      if (known.word == value) map.time_unit = known.unit;
    }
    if (map.time_unit) return {};
    return bad("time_unit '" + std::string(value) + "': expected s, ms, us, ns, min or h");
  }
  for (const MemoryWord& known : kMemoryUnits) {
    if (same_word(known.word, value)) map.memory_unit = known.bytes;
  }
  if (map.memory_unit) return {};
  return bad("memory_unit '" + std::string(value) + "': expected B, KiB, MiB or GiB");
}

/// A column's name with its unit taken off, and the unit.
struct UnitName {
  std::string_view base;
  std::optional<TimeUnit> time_unit;
  std::optional<std::int64_t> memory_unit;
};
UnitName unit_name(std::string_view name) {
  const std::size_t bar = name.rfind('_');
  if (bar == std::string_view::npos) return {.base = name, .time_unit = {}, .memory_unit = {}};
  const std::string_view unit = name.substr(bar + 1);
  UnitName found{.base = name.substr(0, bar), .time_unit = {}, .memory_unit = {}};
  for (const UnitWord& known : kTimeUnits) {
    if (same_word(known.word, unit)) found.time_unit = known.unit;
  }
  for (const MemoryWord& known : kMemoryUnits) {
    if (same_word(known.word, unit)) found.memory_unit = known.bytes;
  }
  return found;
}

}  // namespace

std::string_view role_name(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

std::span<const ColumnWord> known_columns() { return kKnown; }

Result<ColumnMap> parse_column_map(std::string_view text) {
  ColumnMap map;
  if (stripped(text).empty()) return map;
  for (const std::string_view pair : split(text, ',')) {
    const std::size_t equals = pair.find('=');
    const std::string_view key = stripped(pair.substr(0, equals));
    if (equals == std::string_view::npos || equals + 1 == pair.size()) {
      return bad("'" + std::string(pair) + "': expected WHAT=COLUMN, like submit=created");
    }
    const std::string_view value = stripped(pair.substr(equals + 1));
    if (key == "time_unit" || key == "memory_unit") {
      if (auto status = take_unit(map, key, value); !status) return status.error();
      continue;
    }
    const auto found = std::find(kRoleNames.begin(), kRoleNames.end(), key);
    if (found == kRoleNames.end()) {
      std::vector<std::string> known(kRoleNames.begin(), kRoleNames.end());
      known.insert(known.end(), {"time_unit", "memory_unit"});
      return bad("unknown word '" + std::string(key) + "'; expected " + join(known, ", ") +
                 did_you_mean(nearest_word(key, known)));
    }
    const auto role = static_cast<Role>(found - kRoleNames.begin());
    for (const auto& [given, column] : map.columns) {
      if (given == role) return bad("'" + std::string(key) + "' is given twice");
    }
    map.columns.emplace_back(role, value);
  }
  return map;
}

Result<TableLayout> layout_of(const std::vector<std::string>& header, const ColumnMap& map,
                              std::span<const ColumnWord> words, TimeUnit time_unit) {
  TableLayout layout;
  layout.width = header.size();
  const auto bind = [&](Role role, int at, std::int64_t memory_unit) {
    TableLayout::Column& column = layout.columns[static_cast<std::size_t>(role)];
    column.at = at;
    const UnitName name = unit_name(header[static_cast<std::size_t>(at)]);
    column.time_unit = map.time_unit.value_or(name.time_unit.value_or(time_unit));
    if (memory_unit == 0) memory_unit = name.memory_unit.value_or(1);
    column.memory_unit = map.memory_unit.value_or(memory_unit);
  };
  for (const auto& mapped : map.columns) {
    const int at = field_named(header, mapped.second);
    if (at < 0) return no_column(mapped, header);
    bind(mapped.first, at, 0);
  }
  const auto is_mapped = [&](int at) {
    return std::any_of(layout.columns.begin(), layout.columns.end(),
                       [&](const TableLayout::Column& column) { return column.at == at; });
  };
  for (const ColumnWord& known : words) {
    if (layout.has(known.role)) continue;
    int at = field_named(header, known.word);
    for (std::size_t i = 0; at < 0 && i < header.size(); ++i) {
      const UnitName name = unit_name(header[i]);
      const bool has_unit = is_time(known.role)     ? name.time_unit.has_value()
                            : is_memory(known.role) ? name.memory_unit.has_value()
                                                    : false;
      if (has_unit && same_word(name.base, known.word)) at = static_cast<int>(i);
    }
    if (at >= 0 && !is_mapped(at)) bind(known.role, at, known.unit);
  }
  return layout;
}

std::string lacking(const TableLayout& layout) {
  const bool placed = layout.has(Role::kSubmit) || layout.has(Role::kStart) ||
                      layout.has(Role::kEnd);
  if (!placed) return "a column for the time of submit, start or end";
  const bool lasts = layout.has(Role::kRun) || (layout.has(Role::kEnd) &&
                                                (layout.has(Role::kStart) ||
                                                 layout.has(Role::kWait)));
  if (!lasts) return "a column for the run time, or for start and end";
  return "";
}

}  // namespace rota::history
