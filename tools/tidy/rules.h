#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tidy/layers.h"

namespace rota::tidy {

enum class Severity { kWarning, kError };

struct Finding {
  std::string file;
  std::size_t line = 0;  // 1 is the first
  std::string rule;
  std::string message;  // what is wrong and how to mend it
  Severity severity = Severity::kError;
};

struct SourceFile {
  std::string path;  // from the root of the repository, with '/'
  std::string text;
};

/// All findings of one file, by line.
///
/// Every text file:     tabs, trailing spaces, line end, leftovers, foreign paths.
/// Code:                line and file length.
/// src/ and api/:       quoted includes stay inside the layers.
/// Pure modules:        no clock, thread, file, environment, socket, log, third-party include.
/// engine, base/units:  no floating point.
/// engine, sim:         hash containers only for look-ups, marked as such.
/// tests/scenarios:     no empty scenario.
/// Tests (*_test.cc) may use what they need; layers count for them too.
[[nodiscard]] std::vector<Finding> check_file(const SourceFile& file, const Layers& layers);

/// `file:line: rule: message`; a warning says so after the line.
[[nodiscard]] std::string to_string(const Finding& finding);

}  // namespace rota::tidy
