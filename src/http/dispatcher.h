// From a request to an answer: finds the route, checks what HTTP demands, calls the service.
//
// On the loop's thread. Knows no socket, so tests and the fuzzer use it as it is. `done` is called
// exactly once, unless the loop ends first.
#pragma once

#include <chrono>
#include <functional>

#include "http/call.h"

namespace rota::http {

struct DispatchLimits {
  std::chrono::milliseconds answer_time{60'000};
  std::chrono::milliseconds health_time{2'000};
};

class Dispatcher {
 public:
  Dispatcher(Context& context, DispatchLimits limits) : context_(context), limits_(limits) {}

  void handle(server::Caller caller, Request request, Call::Done done);

 private:
  void arm_time_limit(const std::shared_ptr<Call>& call);

  Context& context_;
  DispatchLimits limits_;
};

}  // namespace rota::http
