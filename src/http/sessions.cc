#include "http/sessions.h"

#include <algorithm>

#include "base/text.h"
#include "http/token.h"

namespace rota::http {

Result<std::string> Sessions::open(Time now) {
  Result<std::string> value = make_token();
  if (!value) return value;
  std::erase_if(ends_, [&](const auto& entry) { return entry.second <= now; });
  if (ends_.size() >= kCountMax) {
    ends_.erase(std::min_element(ends_.begin(), ends_.end(), [](const auto& a, const auto& b) {
      return a.second < b.second;
    }));
  }
  ends_.emplace(*value, now + kLifetime);
  return value;
}

bool Sessions::valid(std::string_view value, Time now) const {
  bool found = false;
  for (const auto& [known, end] : ends_) {
    if (equal_secret(known, value) && end > now) found = true;
  }
  return found;
}

void Sessions::close(std::string_view value) {
  const auto found = ends_.find(value);
  if (found != ends_.end()) ends_.erase(found);
}

std::string_view cookie_value(std::string_view header, std::string_view name) {
  for (std::string_view part : split(header, ';')) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    const std::size_t equal = part.find('=');
    if (equal != std::string_view::npos && part.substr(0, equal) == name) {
      return part.substr(equal + 1);
    }
  }
  return {};
}

}  // namespace rota::http
