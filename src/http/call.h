// One call in progress: what was asked, and the way back for the answer.
//
// Lives on the loop's thread. A callback given to the service holds the call and may run anywhere,
// at any time, also never or after the server is gone: it only posts to the loop. answer() works
// once; later answers (after the time limit) are dropped.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "api/json.h"
#include "http/guard.h"
#include "http/loop.h"
#include "http/message.h"
#include "http/problem.h"
#include "http/query.h"
#include "http/route.h"
#include "server/service.h"

namespace rota::http {

/// What all calls share; outlives the loop's thread.
struct Context {
  server::Service& service;
  std::shared_ptr<Loop> loop;
  Guard& guard;
  Sessions& sessions;
  std::string version;
  std::chrono::milliseconds heartbeat{15'000};
};

template <class T>
Response json_response(int status, const T& value) {
  Response response;
  response.status = status;
  response.body = api::to_text(value) + "\n";
  return response;
}

class Call : public std::enable_shared_from_this<Call> {
 public:
  using Done = std::function<void(Response)>;

  Call(Context& context, server::Caller caller, Request request, Done done)
      : context_(context),
        caller_(std::move(caller)),
        request_(std::move(request)),
        done_(std::move(done)) {}

  [[nodiscard]] Context& context() const { return context_; }
  [[nodiscard]] server::Service& service() const { return context_.service; }
  [[nodiscard]] const server::Caller& caller() const { return caller_; }
  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] const Route& route() const { return *route_; }
  /// The path's {variable}.
  [[nodiscard]] const std::string& argument() const { return argument_; }
  [[nodiscard]] const Query& query() const { return query_; }
  [[nodiscard]] bool answered() const { return !done_; }

  void set_route(const Route& route, std::string argument) {
    route_ = &route;
    argument_ = std::move(argument);
  }
  void set_query(Query query) { query_ = std::move(query); }
  void set_timer(std::shared_ptr<void> timer) { timer_ = std::move(timer); }

  void answer(Response response) {
    timer_.reset();
    Done done = std::exchange(done_, nullptr);
    if (done) done(std::move(response));
  }
  void fail(const Error& error) { answer(problem(error)); }

  /// The body as a value. An empty body counts as {} where every field has a default.
  template <class T>
  Result<T> body() const {
    const Result<api::Json> json =
        api::parse_json_once(request_.body.empty() ? "{}" : request_.body);
    if (!json.ok()) return json.error();
    return api::from_json<T>(*json);
  }

  /// For the service: an error ends the call, a value goes to `use` on the loop's thread.
  template <class T, class Use>
  server::Reply<T> then(Use use) {
    return [self = shared_from_this(), loop = context_.loop,
            use = std::move(use)](Result<T> result) {
      auto held = std::make_shared<Result<T>>(std::move(result));
      loop->post([self, held, use] {
        if (self->answered()) return;
        if (!held->ok()) return self->fail(held->error());
        use(*self, std::move(*held).value());
      });
    };
  }

  /// For the service: the value as JSON, with the route's status.
  template <class T>
  server::Reply<T> then_json() {
    return then<T>([](Call& call, T value) {
      call.answer(json_response(call.route().status, value));
    });
  }

 private:
  Context& context_;
  server::Caller caller_;
  Request request_;
  Done done_;
  const Route* route_ = nullptr;
  std::string argument_;
  Query query_;
  std::shared_ptr<void> timer_;
};

}  // namespace rota::http
