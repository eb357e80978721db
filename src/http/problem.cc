#include "http/problem.h"

#include <fmt/format.h>

#include "api/json.h"
#include "api/v1/problem.h"

namespace rota::http {
namespace {

struct Row {
  ErrorCode code;
  std::string_view name;
  int status;
  std::string_view title;
};

constexpr Row kRows[] = {
    {ErrorCode::kInvalidArgument, "invalid_argument", 400, "The request is malformed"},
    {ErrorCode::kNotFound, "not_found", 404, "There is no such object"},
    {ErrorCode::kConflict, "conflict", 409, "The object's state forbids it now"},
    {ErrorCode::kUnsupported, "unsupported", 501, "Not supported here"},
    {ErrorCode::kRefused, "refused", 422, "Refused by policy or by what the cluster offers"},
    {ErrorCode::kDenied, "denied", 403, "The caller may not do this"},
    {ErrorCode::kUnavailable, "unavailable", 503, "Not available now; nothing was done"},
    {ErrorCode::kTimeout, "timeout", 504, "No answer in time"},
    {ErrorCode::kUnknownResult, "unknown_result", 504, "It may or may not have happened"},
    {ErrorCode::kCorruption, "corruption", 500, "Stored data fails its check"},
};

const Row& row_of(ErrorCode code) {
  for (const Row& row : kRows) {
    if (row.code == code) return row;
  }
  return kRows[0];
}

ErrorCode code_of_status(int status) {
  if (status == 401) return ErrorCode::kDenied;
  for (const Row& row : kRows) {
    if (row.status == status) return row.code;
  }
  return status < 500 ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable;
}

}  // namespace

std::string_view code_name(ErrorCode code) { return row_of(code).name; }

ErrorCode code_from(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.code;
  }
  return ErrorCode::kUnavailable;
}

int status_of(ErrorCode code) { return row_of(code).status; }

Response problem(const Error& error) { return problem(status_of(error.code), error); }

Response problem(int status, const Error& error) {
  const Row& row = row_of(error.code);
  const bool own = status == row.status;
  api::Problem body;
  body.type = fmt::format("about:blank#{}", row.name);
  body.title = std::string(own ? row.title : status_phrase(status));
  body.status = status;
  body.detail = error.message;
  body.code = std::string(row.name);
  body.field = error.where;
  Response response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = api::to_text(body) + "\n";
  return response;
}

Error error_from(int status, std::string_view body) {
  const Result<api::Problem> read = api::from_text<api::Problem>(body);
  if (read) {
    return {.code = code_from(read->code), .message = read->detail, .where = read->field};
  }
  return {.code = code_of_status(status),
          .message = fmt::format("the daemon answered {} {}", status, status_phrase(status))};
}

}  // namespace rota::http
