// One row per call of the API: the single source of routing, of 405's Allow header and of the paths
// in the OpenAPI document.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "http/query.h"

namespace rota::http {

class Call;

/// What an answer is made of. kEvents: JSON, or a stream when the client accepts text/event-stream.
enum class Media { kJson, kText, kEvents };

struct Route {
  Method method = Method::kGet;
  std::string_view path;       // "/api/v1/jobs/{id}:cancel"; at most one {variable}
  std::string_view operation;  // "cancelJob", unique
  std::string_view summary;
  std::span<const Parameter> parameters = {};
  std::string_view request = {};  // schema name (api/openapi.h); empty: no body
  std::string_view reply = {};    // schema name; empty: none, or plain text
  Media media = Media::kJson;
  int status = 200;               // of success
  std::string_view verb = {};     // for handlers that serve several rows
  void (*handler)(const std::shared_ptr<Call>&) = nullptr;
};

std::span<const Route> route_table();

struct RouteMatch {
  const Route* route = nullptr;   // null: `allowed` says what this path takes; empty: no such path
  std::string argument;           // the {variable}, decoded
  std::vector<Method> allowed;
};

/// HEAD matches a GET row. Error: kInvalidArgument when the variable does not decode.
Result<RouteMatch> match_route(Method method, const std::vector<std::string>& segments);

/// The OpenAPI 3.1 document as one line of JSON.
std::string openapi_document(std::string_view version);

}  // namespace rota::http
