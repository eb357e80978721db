#include "http/message.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace rota::http {
namespace {

constexpr std::array<std::string_view, 8> kMethods = {"GET",   "HEAD",   "POST",    "PUT",
                                                      "PATCH", "DELETE", "OPTIONS", "OTHER"};

struct Phrase {
  int status;
  std::string_view words;
};

constexpr Phrase kPhrases[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

}  // namespace

std::string_view method_name(Method method) {
  return kMethods[static_cast<std::size_t>(method)];
}

Method method_from(std::string_view name) {
  const auto* found = std::find(kMethods.begin(), kMethods.end(), name);
  if (found == kMethods.end()) return Method::kOther;
  return static_cast<Method>(found - kMethods.begin());
}

const std::string* Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::size_t Request::header_count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; }));
}

std::string_view status_phrase(int status) {
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return phrase.words;
  }
  return "Error";
}

std::string render_head(const Response& response, std::string_view version,
                        Connection connection) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\nServer: Rota/{}\r\nRota-Api: v1\r\n",
                                response.status, status_phrase(response.status), version);
  for (const auto& [name, value] : response.headers) out += fmt::format("{}: {}\r\n", name, value);
  out += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  if (response.stream || response.status != 204) {
    out += fmt::format("Content-Type: {}\r\n", response.content_type);
  }
  if (!response.stream && response.status != 204) {
    out += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  const bool keep = connection == Connection::kKeepAlive && !response.stream;
  out += keep ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return out;
}

}  // namespace rota::http
