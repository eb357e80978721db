// What `rota whatif` and `rota capacity` are both told.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/history_options.h"

namespace rota::cli {

struct WhatIfOptions {
  HistoryOptions history;
  std::string on;     // today's cluster; empty: from the history
  std::string today;  // today's policy; empty: the one whose replay comes nearest
  std::vector<std::string> changes;
};

/// Declares --change; `options` must live as long as the runner. `help` says what is changed.
void add_change_option(CLI::App& app, WhatIfOptions& options, const std::string& help);
/// Declares --on and --today.
void add_today_options(CLI::App& app, WhatIfOptions& options);

/// Policies that are played one by one, and the option that names them.
struct PolicyList {
  std::string option;
  std::string names;  // with commas between them; empty: none
};

/// What does not need the history: told before a long file is read.
[[nodiscard]] Status check_words(const WhatIfOptions& options, const PolicyList& policies);

}  // namespace rota::cli
