// One request and one answer, without sockets: what the dispatcher reads and makes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/url.h"

namespace rota::http {

class EventStream;

enum class Method { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions, kOther };

/// "GET", ...; kOther: "OTHER".
std::string_view method_name(Method method);
Method method_from(std::string_view name);

struct Request {
  Method method = Method::kGet;
  std::string target;  // as sent: path and query, still encoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool keep_alive = true;

  /// The first header of that name (lower case); null when absent.
  [[nodiscard]] const std::string* header(std::string_view name) const;
  [[nodiscard]] std::size_t header_count(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool close = false;                   // the connection ends after it
  std::shared_ptr<EventStream> stream;  // set: the body is this stream, until one side closes
};

/// Status line and headers; an answer to HEAD is this alone, with the length of the body it leaves
/// out. `version` goes into the Server header.
enum class Connection { kKeepAlive, kClose };
std::string render_head(const Response& response, std::string_view version,
                        Connection connection);

/// "Not Found", ...; "Error" for a status without a name.
std::string_view status_phrase(int status);

}  // namespace rota::http
