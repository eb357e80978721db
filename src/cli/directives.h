// Options in the head of a script: #SBATCH and #ROTA lines.
//
// The head ends at the first line that is neither blank nor a comment. Words are separated by
// blanks; quotes and backslashes work as in a shell; a # after a blank starts a remark. Any option
// that is unknown, lacks its value or may not stand there is an error with file:line:column, and so
// is a line that looks like a misspelt directive.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/submit_options.h"

namespace rota::cli {

struct ScriptHead {
  std::vector<OptionUse> uses;        // in file order
  bool has_sbatch = false;            // an #SBATCH line was there: submitted the Slurm way
  std::vector<std::string> warnings;  // directives below the head, of other systems
};

/// `file` is for messages. Error: kInvalidArgument.
[[nodiscard]] Result<ScriptHead> read_directives(std::string_view script, const std::string& file);

/// A word with the column it starts at, from 1.
struct Word {
  std::string text;
  std::size_t column = 1;
};

/// Splits the rest of a directive line that starts at `column`. Error: an open quote.
[[nodiscard]] Result<std::vector<Word>> split_words(std::string_view text, std::size_t column);

}  // namespace rota::cli
