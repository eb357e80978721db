#include "http/sse_parser.h"

#include <utility>

namespace rota::http {
namespace {

constexpr std::size_t kLineBytesMax = 1024 * 1024;

}  // namespace

std::vector<SseMessage> SseParser::feed(std::string_view piece) {
  std::vector<SseMessage> out;
  for (const char c : piece) {
    const bool second = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second) continue;
    if (c != '\n' && c != '\r') {
      too_long_ = too_long_ || line_.size() + message_.data.size() >= kLineBytesMax;
      if (!too_long_) line_.push_back(c);
      continue;
    }
    const std::string line = std::exchange(line_, {});
    take_line(line, out);
  }
  return out;
}

void SseParser::take_line(std::string_view line, std::vector<SseMessage>& out) {
  if (line.empty() && !too_long_) {
    if (message_.id || has_data_) out.push_back(std::exchange(message_, {}));
    has_data_ = false;
    return;
  }
  if (line.empty()) {
    // The end of a block whose event was dropped.
    message_ = {};
    has_data_ = false;
    too_long_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == 0 || too_long_) return;
  const std::string_view name = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (name == "id" && value.find('\0') == std::string_view::npos) message_.id = std::string(value);
  if (name != "data") return;
  if (has_data_) message_.data.push_back('\n');
  message_.data += value;
  has_data_ = true;
}

}  // namespace rota::http
