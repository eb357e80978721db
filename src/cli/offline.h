// Shared by the commands that run the engine without a daemon: lists of words, clusters, progress.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "base/result.h"
#include "base/text.h"
#include "cli/context.h"
#include "cli/usage.h"
#include "model/cluster.h"
#include "model/fields.h"
#include "sim/replay.h"

namespace rota::cli {

/// The values of a comma-separated list of enumeration names.
template <class E>
Result<std::vector<E>> enum_list(const std::string& option, const std::string& text) {
  std::vector<E> values;
  for (const std::string_view word : split(text, ',')) {
    const auto value = enum_from<E>(word);
    if (value && std::find(values.begin(), values.end(), *value) != values.end()) {
      return usage_error(option + ": '" + std::string(word) + "' is named twice");
    }
    if (value) {
      values.push_back(*value);
      continue;
    }
    const auto names = names_of(E{});
    std::vector<std::string> known(names.begin(), names.end());
    const std::string_view near = nearest_word(word, known);
    return usage_error(option + ": unknown word '" + std::string(word) + "'; expected " +
                       join(known, ", ") +
                       (near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)"));
  }
  return values;
}

/// The nodes that --on names: `flat:512` (one pool), `64x8` (nodes of eight), or a file with `node`
/// lines of the scenario language.
Result<std::vector<NodeSpec>> cluster_of(const std::string& text);

/// Rounded to whole seconds: what the input knows.
std::int64_t rounded_seconds(Duration d);
/// Its figures in whole seconds: mean, p50, p90, p99, max.
api::Json spread_json(const sim::Spread& spread);

/// Draws one line on a terminal, again and again; nothing elsewhere. One thread.
class Progress {
 public:
  Progress(Context& context, std::string label) : context_(context), label_(std::move(label)) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done, std::int64_t whole);

 private:
  Context& context_;
  std::string label_;
};

/// 82247 -> "82,247".
std::string grouped(std::int64_t number);

}  // namespace rota::cli
