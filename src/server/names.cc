#include "server/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace rota::server {
namespace {

bool is_blank(std::uint32_t code) {
  return code == 0x20 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200D) ||
         code == 0x202F || code == 0x205F || code == 0x2060 || code == 0x3000 || code == 0xFEFF;
}

Error bad_name(std::string field, std::string message) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = std::move(field)};
}

bool is_level(std::string_view level) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  };
  return !level.empty() && level.front() != '-' &&
         level.find_first_not_of('.') != std::string_view::npos &&
         std::all_of(level.begin(), level.end(), allowed);
}

}  // namespace

bool is_plain_text(std::string_view text) {
  return !has_control(text);
}

Status check_job_name(const std::string& name) {
  if (name.size() > kJobNameBytesMax || !is_plain_text(name)) {
    return bad_name("name", fmt::format("a name has at most {} bytes and no control characters",
                                        kJobNameBytesMax));
  }
  std::string_view rest = name;
  while (!rest.empty()) {
    if (!is_blank(take_character(rest).code)) return {};
  }
  if (name.empty()) return {};
  return bad_name("name", "a name of blanks alone cannot be told from none; leave it out, or give "
                          "it a letter");
}

std::string plain_job_name(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    const Character next = take_character(text);
    if (name.size() + next.bytes.size() > kJobNameBytesMax) break;
    if (is_control(next)) {
      name += '_';
    } else {
      name += next.bytes;
    }
  }
  return name;
}

Status check_comment(const std::string& comment) {
  std::string text = comment;
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; });
  if (is_plain_text(text)) return {};
  return bad_name("comment", "a comment has no control characters but tabs and ends of lines");
}

Status check_queue_name(const std::string& name) {
  bool good = name.size() <= kQueueNameBytesMax;
  std::string_view rest = name;
  while (good) {
    const std::size_t slash = rest.find('/');
    good = is_level(rest.substr(0, slash));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (good) return {};
  const std::string shown = is_plain_text(name) ? plain_job_name(name.substr(0, 64)) : "...";
  return bad_name("name",
                  fmt::format("'{}' cannot be the name of a queue: letters, digits, '.', '_' and "
                              "'-', levels with '/' between them, at most {} characters; no level "
                              "begins with '-' or is only dots",
                              shown, kQueueNameBytesMax));
}

Status check_queue_amounts(const QueueSpec& queue) {
  if (!queue.quota || !queue.limit || *queue.quota <= *queue.limit) return {};
  return bad_name("quota",
                  fmt::format("the quota of queue {} ({} GPUs) is above its limit ({} GPUs), so it "
                              "could never be used; lower it, or raise the limit",
                              queue.name, format_gpus(*queue.quota), format_gpus(*queue.limit)));
}

}  // namespace rota::server
