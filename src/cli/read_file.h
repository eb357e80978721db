// Reading the files that a command line names.
#pragma once

#include <fstream>
#include <string>

#include "base/result.h"

namespace rota::cli {

/// A file or pipe, open for reading. Error: kInvalidArgument, "cannot read 'x': it is a folder".
[[nodiscard]] Result<std::ifstream> open_to_read(const std::string& file);

/// All of its bytes. Errors: as above, also where reading breaks off.
[[nodiscard]] Result<std::string> read_text(const std::string& file);

}  // namespace rota::cli
