// CSV with any columns: those with known names, and those that a map names.
#include "history/csv/table.h"

namespace rota::history {

bool is_csv(std::string_view sample) {
  const std::vector<std::string> header = header_of(sample);
  if (header.size() < 2) return false;
  const auto layout = layout_of(header, {}, known_columns(), TimeUnit::kSeconds);
  return layout && lacking(*layout).empty();
}

Status import_csv(ImportRun& run) {
  TableRules rules;
  rules.words = known_columns();
  return import_table(run, rules);
}

}  // namespace rota::history
