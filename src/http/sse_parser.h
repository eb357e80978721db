// Reads server-sent events (the WHATWG HTML standard's event stream format) out of pieces of text.
//
// Pure. A line longer than 1 MiB is dropped with its event, so memory is bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::http {

struct SseMessage {
  std::optional<std::string> id;  // absent: the block named none
  std::string data;               // empty: the block only moved the position
};

class SseParser {
 public:
  /// The messages that `piece` completes, in order.
  std::vector<SseMessage> feed(std::string_view piece);

 private:
  void take_line(std::string_view line, std::vector<SseMessage>& out);

  std::string line_;
  SseMessage message_;
  bool has_data_ = false;
  bool too_long_ = false;
  bool after_return_ = false;  // a line break of two characters may be cut in between
};

}  // namespace rota::http
