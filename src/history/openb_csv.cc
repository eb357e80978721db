#include "history/openb_csv.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "history/csv_lines.h"

namespace rota::history {
namespace {

constexpr std::int64_t kCpuMilliMax = 1'000'000'000;
constexpr std::int64_t kMebibytesMax = 1'000'000'000;
constexpr std::int64_t kGpusMax = 1'024;
constexpr std::int64_t kMilliMax = 1'000;

/// The columns of one list, found by name in its first line.
class Columns {
 public:
  Columns(CsvLines& lines, std::vector<std::string_view> names)
      : lines_(lines), names_(std::move(names)) {}

  Status find() {
    const auto header = lines_.next();
    if (!header) return header.error();
    for (const std::string_view name : names_) {
      const int at = column_of(*header, {name});
      if (at < 0) {
        return lines_.error_at(1, "no column '" + std::string(name) + "'; expected " +
                                      join({names_.begin(), names_.end()}, ", ") +
                                      " in the first line");
      }
      at_.push_back(static_cast<std::size_t>(at));
    }
    return {};
  }

  [[nodiscard]] const CsvField& field(const std::vector<CsvField>& fields,
                                      std::size_t which) const {
    return fields[at_[which]];
  }

  /// A whole number from 0 to `most`; empty counts as 0.
  [[nodiscard]] Result<std::int64_t> number(const std::vector<CsvField>& fields,
                                            std::size_t which, std::int64_t most) const {
    const CsvField& at = field(fields, which);
    if (at.text.empty()) return 0;
    const auto value = parse_int(at.text);
    if (value && *value >= 0 && *value <= most) return *value;
    return lines_.error_at(at.column, std::string(names_[which]) + " '" + at.text +
                                          "' is no whole number from 0 to " +
                                          std::to_string(most));
  }

 private:
  CsvLines& lines_;
  std::vector<std::string_view> names_;
  std::vector<std::size_t> at_;
};

/// What both lists tell in their second to fourth column.
struct Amounts {
  std::int64_t cpu_milli = 0;
  Bytes memory;
  std::int64_t gpus = 0;
};

Result<Amounts> amounts_of(const Columns& columns, const std::vector<CsvField>& fields) {
  const auto cpus = columns.number(fields, 1, kCpuMilliMax);
  if (!cpus) return cpus.error();
  const auto memory = columns.number(fields, 2, kMebibytesMax);
  if (!memory) return memory.error();
  const auto gpus = columns.number(fields, 3, kGpusMax);
  if (!gpus) return gpus.error();
  return Amounts{.cpu_milli = *cpus, .memory = mebibytes(*memory), .gpus = *gpus};
}

Result<NodeSpec> node_of(const Columns& columns, const std::vector<CsvField>& fields) {
  const auto amounts = amounts_of(columns, fields);
  if (!amounts) return amounts.error();
  NodeSpec node;
  node.name = columns.field(fields, 0).text;
  node.cpus = amounts->cpu_milli;
  node.memory = amounts->memory;
  node.devices.resize(static_cast<std::size_t>(amounts->gpus));
  for (DeviceSpec& device : node.devices) {
    device.model = columns.field(fields, 4).text;
    device.memory = gibibytes(16);
  }
  return node;
}

std::vector<std::string> models_of(const std::string& text) {
  std::vector<std::string> models;
  if (text.empty()) return models;
  for (const std::string_view model : split(text, '|')) {
    const bool known = std::find(models.begin(), models.end(), model) != models.end();
    if (!model.empty() && !known) models.emplace_back(model);
  }
  return models;
}

Result<ListedTask> task_of(const CsvLines& lines, const Columns& columns,
                           const std::vector<CsvField>& fields) {
  const auto amounts = amounts_of(columns, fields);
  if (!amounts) return amounts.error();
  const auto milli = columns.number(fields, 4, kMilliMax);
  if (!milli) return milli.error();
  if (amounts->gpus > 1 && *milli != kMilliMax) {
    return lines.error_at(columns.field(fields, 4).column,
                          "a task of several GPUs takes whole ones; expected gpu_milli 1000");
  }
  ListedTask task;
  task.name = columns.field(fields, 0).text;
  task.shape.task.gpus = MilliGpu(amounts->gpus * *milli);
  task.shape.task.cpus = amounts->cpu_milli;
  task.shape.task.memory = amounts->memory;
  task.shape.models = models_of(columns.field(fields, 5).text);
  return task;
}

/// All rows of a list, each made by `make`.
template <class T, class Make>
Result<std::vector<T>> read_list(std::istream& input, const std::string& file,
                                 std::vector<std::string_view> names, Make&& make) {
  CsvLines lines(input, file);
  Columns columns(lines, std::move(names));
  if (const Status found = columns.find(); !found.ok()) return found.error();
  std::vector<T> list;
  while (true) {
    const auto fields = lines.next();
    if (!fields) return fields.error();
    if (fields->empty()) return list;
    Result<T> one = make(lines, columns, *fields);
    if (!one) return one.error();
    list.push_back(*std::move(one));
  }
}

}  // namespace

Result<std::vector<NodeSpec>> read_openb_nodes(std::istream& input, const std::string& file) {
  return read_list<NodeSpec>(
      input, file, {"sn", "cpu_milli", "memory_mib", "gpu", "model"},
      [](const CsvLines&, const Columns& columns, const std::vector<CsvField>& fields) {
        return node_of(columns, fields);
      });
}

Result<std::vector<ListedTask>> read_openb_tasks(std::istream& input, const std::string& file) {
  return read_list<ListedTask>(
      input, file, {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"},
      task_of);
}

}  // namespace rota::history
