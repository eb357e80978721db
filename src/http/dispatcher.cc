#include "http/dispatcher.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "http/accept.h"

namespace rota::http {
namespace {

Error invalid(std::string message, std::string where = {}) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = std::move(where)};
}

std::string allow_header(std::vector<Method> allowed) {
  if (std::find(allowed.begin(), allowed.end(), Method::kGet) != allowed.end()) {
    allowed.push_back(Method::kHead);
  }
  allowed.push_back(Method::kOptions);
  std::vector<std::string> names;
  names.reserve(allowed.size());
  for (const Method method : allowed) names.emplace_back(method_name(method));
  return join(names, ", ");
}

Response no_such_path(const std::string& target) {
  const std::string path = target.substr(0, target.find('?'));
  return problem(Error{.code = ErrorCode::kNotFound,
                       .message = fmt::format("there is nothing at {}; the calls are listed in "
                                              "/openapi.json",
                                              path)});
}

Response wrong_method(const Request& request, const std::vector<Method>& allowed) {
  const std::string allow = allow_header(allowed);
  Response response;
  if (request.method == Method::kOptions) {
    response.status = 204;
  } else {
    response = problem(405, invalid(fmt::format("this path takes {}", allow)));
  }
  response.headers.emplace_back("Allow", allow);
  return response;
}

/// What HTTP itself demands of a request that has a route; nothing when all is well.
std::optional<Response> check_media(const Route& route, const Request& request) {
  if (!acceptable(request, route.media)) {
    return problem(406, invalid(fmt::format("this call answers {}",
                                            route.media == Media::kText ? "text/plain"
                                                                        : "application/json")));
  }
  if (request.body.empty()) return std::nullopt;
  if (route.request.empty()) return problem(invalid("this call takes no body"));
  if (!is_json_body(request) || request.header("content-encoding") != nullptr) {
    return problem(415, invalid("the body must be plain JSON: Content-Type: application/json"));
  }
  return std::nullopt;
}

}  // namespace

void Dispatcher::arm_time_limit(const std::shared_ptr<Call>& call) {
  const bool health = call->route().operation == "getHealth";
  const bool reads = call->route().method == Method::kGet;
  const auto limit = health ? limits_.health_time : limits_.answer_time;
  call->set_timer(context_.loop->later(limit, [weak = std::weak_ptr(call), health, reads, limit] {
    const auto late = weak.lock();
    if (!late) return;
    const auto code = health  ? ErrorCode::kUnavailable
                      : reads ? ErrorCode::kTimeout
                              : ErrorCode::kUnknownResult;
    late->fail({.code = code,
                .message = fmt::format("the scheduler gave no answer within {} ms{}; see `rota "
                                       "doctor`",
                                       limit.count(),
                                       code == ErrorCode::kUnknownResult
                                           ? "; it may still do what was asked: look before "
                                             "trying again"
                                           : "")});
  }));
}

void Dispatcher::handle(server::Caller caller, Request request, Call::Done done) {
  if (request.method == Method::kOptions && request.target == "*") {
    Response response;
    response.status = 204;
    return done(std::move(response));
  }
  Result<Target> target = parse_target(request.target);
  if (!target) return done(problem(target.error()));
  Result<RouteMatch> match = match_route(request.method, target->segments);
  if (!match) return done(problem(match.error()));
  if (match->route == nullptr) {
    return done(match->allowed.empty() ? no_such_path(request.target)
                                       : wrong_method(request, match->allowed));
  }
  const Route& route = *match->route;
  if (auto refused = check_media(route, request)) return done(std::move(*refused));
  Result<Query> query = Query::read(std::move(target->query), route.parameters);
  if (!query) return done(problem(query.error()));
  const auto call = std::make_shared<Call>(context_, std::move(caller), std::move(request),
                                           std::move(done));
  call->set_route(route, std::move(match->argument));
  call->set_query(std::move(*query));
  arm_time_limit(call);
  route.handler(call);
}

}  // namespace rota::http
