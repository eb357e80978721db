// Parameter sweeps: one job per combination of --param values, or per row of a CSV file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rota::cli {

using Params = std::map<std::string, std::string>;

/// Each of `params` is NAME=VALUE[,VALUE...]; several make every combination, the first varying
/// slowest. Each of `files` is a CSV file whose first line names the variables; its rows are
/// combined with the --param values. Error: kInvalidArgument (malformed, a name given twice, more
/// than 100,000 combinations, none at all, no such file).
[[nodiscard]] Result<std::vector<Params>> sweep_of(const std::vector<std::string>& params,
                                                   const std::vector<std::string>& files);

/// Rows of a CSV text as variables; `file` is for messages.
[[nodiscard]] Result<std::vector<Params>> params_of_csv(std::string_view text,
                                                        const std::string& file);

/// Every {NAME} of the template must be a variable of the sweep, or `index`.
[[nodiscard]] Status check_name_template(std::string_view name_template, const Params& example);

}  // namespace rota::cli
