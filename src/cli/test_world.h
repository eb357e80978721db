// A made-up process for tests: no terminal, a fixed clock, an environment of the test's choice.
#pragma once

#include <sstream>
#include <string>

#include "cli/context.h"

namespace rota::cli {

struct TestWorld {
  std::ostringstream out;
  std::ostringstream err;
  Context context{.out = out, .err = err};

  TestWorld() {
    context.now_seconds = [] { return std::int64_t{1507532515}; };  // 2017-10-09T07:01:55Z
    context.user = "ann";
    context.uid = 1000;
    context.directory = "/home/ann";
    context.environment = {{"HOME", "/home/ann"}, {"PATH", "/usr/bin"}, {"USER", "ann"}};
  }
};

}  // namespace rota::cli
