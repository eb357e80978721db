// Base64 (RFC 4648, standard alphabet, padded): bytes of logs inside JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace rota::http {

std::string encode_base64(std::string_view bytes);
/// Error: kInvalidArgument for anything that encode_base64() would not have written.
Result<std::string> decode_base64(std::string_view text);

}  // namespace rota::http
