// Browser sessions of the loopback door: a random value in a cookie instead of the token.
//
// A browser's EventSource cannot send an Authorization header, so a page trades the token for a
// cookie once. Cookies ignore ports, so another program of the machine may see it: a session is
// therefore good for reading only, ends after 12 hours, and dies with the daemon.
// One thread.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rota::http {

class Sessions {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::hours kLifetime{12};
  static constexpr std::size_t kCountMax = 64;  // the oldest goes first
  static constexpr std::string_view kCookie = "rota_session";

  Result<std::string> open(Time now);
  [[nodiscard]] bool valid(std::string_view value, Time now) const;
  void close(std::string_view value);

 private:
  std::map<std::string, Time, std::less<>> ends_;
};

/// The value of cookie `name` in a Cookie header; empty when absent.
std::string_view cookie_value(std::string_view header, std::string_view name);

}  // namespace rota::http
