// Reads metrics in the text form that Prometheus scrapes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace rota::audit {

struct MetricLine {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  // in their order
  double value = 0;                                         // may be no number, or infinite
  int line = 0;                                             // from 1

  /// The value of the first of these labels that is there and not empty; else empty.
  [[nodiscard]] std::string_view label(std::initializer_list<std::string_view> names) const;
};

/// All series of a scrape, in their order; comments and empty lines are passed over. `file` is for
/// messages. Error: kInvalidArgument with file:line:column of what cannot be read. O(length).
[[nodiscard]] Result<std::vector<MetricLine>> parse_metric_text(std::string_view text,
                                                                std::string_view file);

}  // namespace rota::audit
