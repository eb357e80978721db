// Signals by name and number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rota::cli {

/// `USR1`, `SIGUSR1`, `usr1` or `10`. Error: kInvalidArgument with the nearest name.
[[nodiscard]] Result<int> parse_signal(std::string_view text);
/// "SIGTERM"; "signal 63" for one without a name.
[[nodiscard]] std::string signal_name(int number);

}  // namespace rota::cli
