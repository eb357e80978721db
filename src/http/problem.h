// Errors on the wire: the one mapping between ErrorCode, HTTP status and problem+json.
#pragma once

#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace rota::http {

/// "invalid_argument", "not_found", ...
std::string_view code_name(ErrorCode code);
/// kUnavailable for a name that this version does not know.
ErrorCode code_from(std::string_view name);
int status_of(ErrorCode code);

/// The answer for an error of the service. Field `where` becomes `field`.
Response problem(const Error& error);
/// An answer of HTTP's own (405, 413, ...) that has no error code with that status.
Response problem(int status, const Error& error);

/// The error that a problem+json document describes; `status` serves when the body is none.
Error error_from(int status, std::string_view body);

}  // namespace rota::http
