// What a command may use of the world around it: streams, terminal, environment, clock. Tests make
// their own; main() makes the real one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rota::cli {

struct Context {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;               // on `out`; NO_COLOR and TERM=dumb turn it off
  int width = 80;                   // columns of the terminal
  std::map<std::string, std::string> environment;
  std::function<std::int64_t()> now_seconds;  // since the Unix epoch
  std::function<bool()> reader_left;  // whoever read `out` is gone; unset: nobody can leave
  std::int64_t uid = 0;
  std::string user;                 // account name
  std::string directory;            // working directory

  /// The variable's value; absent when unset or empty.
  [[nodiscard]] std::optional<std::string> variable(const std::string& name) const;
};

/// The process's own. Streams are std::cout and std::cerr.
[[nodiscard]] Context process_context();

/// "rota: where: message" on `err`; returns the exit code for it.
int report_error(Context& context, const Error& error);

}  // namespace rota::cli
