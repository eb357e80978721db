#include "http/accept.h"

#include <string>

#include "base/text.h"

namespace rota::http {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Of `q=0.5` in thousandths; 1,000 when absent or unreadable.
int quality_of(std::string_view range) {
  for (const std::string_view part : split(range, ';')) {
    const std::string parameter = lower(trim(part));
    if (!parameter.starts_with("q=")) continue;
    const Result<std::int64_t> value = parse_fixed(std::string_view(parameter).substr(2), 3);
    return value && *value >= 0 && *value <= 1000 ? static_cast<int>(*value) : 1000;
  }
  return 1000;
}

/// Quality the client gives to type/subtype: of the most exact range that matches; -1: none does.
int quality(std::string_view accept, std::string_view type) {
  const std::string any_subtype = std::string(type.substr(0, type.find('/'))) + "/*";
  int best = -1;
  int exactness = -1;
  for (const std::string_view range : split(accept, ',')) {
    const std::string name = lower(trim(range.substr(0, range.find(';'))));
    const int exact = name == type ? 2 : name == any_subtype ? 1 : name == "*/*" ? 0 : -1;
    if (exact <= exactness) continue;
    exactness = exact;
    best = quality_of(range);
  }
  return best;
}

/// All Accept headers as one, or empty when there is none.
std::string accept_of(const Request& request) {
  std::string out;
  for (const auto& [name, value] : request.headers) {
    if (name == "accept") out += (out.empty() ? "" : ",") + value;
  }
  return out;
}

}  // namespace

bool acceptable(const Request& request, Media media) {
  const std::string accept = accept_of(request);
  if (trim(accept).empty()) return true;
  if (media == Media::kText) return quality(accept, "text/plain") > 0;
  if (quality(accept, "application/json") > 0) return true;
  return media == Media::kEvents && quality(accept, "text/event-stream") > 0;
}

bool prefers_stream(const Request& request) {
  const std::string accept = accept_of(request);
  if (accept.find("text/event-stream") == std::string::npos) return false;
  const int stream = quality(accept, "text/event-stream");
  return stream > 0 && stream >= quality(accept, "application/json");
}

bool is_json_body(const Request& request) {
  const std::string* header = request.header("content-type");
  if (header == nullptr) return false;
  const std::string type = lower(trim(std::string_view(*header).substr(0, header->find(';'))));
  return type == "application/json" || type == "application/merge-patch+json";
}

}  // namespace rota::http
