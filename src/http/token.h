// The secret of the loopback door: 256 random bits as 64 hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace rota::http {

/// From the operating system's random source. Error: kUnavailable.
Result<std::string> make_token();

/// Reads the token at `path`, or makes one with mode 0600 (atomically: of two daemons that start at
/// once, both read the same). Errors: kDenied when the file is open to other people or owned by
/// another account, kCorruption when it holds no token, kUnavailable.
Result<std::string> load_or_make_token(const std::string& path);

/// Reads an existing token. Errors: kNotFound, kDenied, kCorruption.
Result<std::string> load_token(const std::string& path);

/// Compares without telling by its duration where two texts differ.
bool equal_secret(std::string_view a, std::string_view b);

}  // namespace rota::http
