// What every refused call is answered with.
#pragma once

#include <cstdint>
#include <string>

#include "api/marks.h"

namespace rota::api {

/// RFC 9457 (problem+json).
struct Problem {
  std::string type;
  std::string title;
  std::int64_t status = 0;
  std::string detail;
  std::string code;
  std::string field;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("type", self.type, "about:blank#code");
    visit("title", self.title, "the kind of problem");
    visit("status", self.status, "HTTP status");
    visit("detail", self.detail, "the thing, the rule, the next command");
    visit("code", self.code, "invalid_argument, not_found, conflict, refused, denied, ...");
    visit("field", self.field, "the part of the request it is about", kMayLack);
  }
};

}  // namespace rota::api
