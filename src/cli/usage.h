// The error of a wrong command line or file.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace rota::cli {

/// kInvalidArgument: exit code 2.
[[nodiscard]] inline Error usage_error(std::string message, std::string where = {}) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::move(where)};
}

}  // namespace rota::cli
