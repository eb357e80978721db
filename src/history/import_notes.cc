#include "history/import_notes.h"

#include <algorithm>
#include <utility>

namespace rota::history {

std::string_view fate_name(RowFate fate) {
  switch (fate) {
    case RowFate::kPassedOver: return "passed over";
    case RowFate::kKept: return "kept";
    case RowFate::kSkipped: return "skipped";
  }
  return "skipped";
}

bool ImportNotes::wants_place(std::string_view kind) const {
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const RowKind& known) { return known.kind == kind; });
  return found == kinds.end() || found->places.size() < RowKind::kPlacesMax;
}

void ImportNotes::count(RowFate fate, std::string_view kind, const std::string& place) {
  auto found = std::find_if(kinds.begin(), kinds.end(),
                            [&](const RowKind& known) { return known.kind == kind; });
  if (found == kinds.end()) {
    RowKind fresh;
    fresh.kind = kind;
    fresh.fate = fate;
    found = kinds.insert(kinds.end(), std::move(fresh));
  }
  ++found->count;
  if (found->places.size() < RowKind::kPlacesMax && !place.empty()) {
    found->places.push_back(place);
  }
}

void ImportNotes::remark(std::string text) {
  if (std::find(remarks.begin(), remarks.end(), text) == remarks.end()) {
    remarks.push_back(std::move(text));
  }
}

std::int64_t ImportNotes::count_of(RowFate fate) const {
  std::int64_t count = 0;
  for (const RowKind& kind : kinds) count += kind.fate == fate ? kind.count : 0;
  return count;
}

}  // namespace rota::history
