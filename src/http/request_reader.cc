#include "http/request_reader.h"

#include <optional>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <fmt/format.h>

#include "http/problem.h"

namespace rota::http {

namespace beast_http = boost::beast::http;

namespace {

std::string lower_word(boost::beast::string_view text) {
  std::string out(text.data(), text.size());
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

struct RequestReader::Impl {
  using Parser = beast_http::request_parser<beast_http::string_body>;

  explicit Impl(ReaderLimits limits_in) : limits(limits_in) { restart(); }

  void restart() {
    parser.emplace();
    parser->eager(false);
    parser->header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser->body_limit(limits.body_bytes);
    head = Request();
    begun = false;
    head_reported = false;
  }

  Step fail(int failed_status, std::string message) {
    status = failed_status;
    error = {.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
    return Step::kFailed;
  }

  Step fail(const boost::system::error_code& ec) {
    if (ec == beast_http::error::header_limit) {
      return fail(431, fmt::format("the request header is longer than {} bytes",
                                   limits.header_bytes));
    }
    if (ec == beast_http::error::body_limit) {
      return fail(413, fmt::format("the request body is longer than {} bytes", limits.body_bytes));
    }
    return fail(400, fmt::format("this is no HTTP request: {}", ec.message()));
  }

  Step report_head() {
    const auto& message = parser->get();
    head_reported = true;
    const auto method = message.method_string();
    const auto target = message.target();
    head.method = method_from({method.data(), method.size()});
    head.target.assign(target.data(), target.size());
    head.keep_alive = message.keep_alive();
    for (const auto& field : message) {
      const auto value = field.value();
      head.headers.emplace_back(lower_word(field.name_string()),
                                std::string(value.data(), value.size()));
    }
    if (message.version() >= 11 && head.header_count("host") != 1) {
      return fail(400, "an HTTP/1.1 request needs exactly one Host header");
    }
    return Step::kHead;
  }

  ReaderLimits limits;
  std::optional<Parser> parser;
  Request head;
  bool begun = false;
  bool head_reported = false;
  int status = 400;
  Error error;
};

RequestReader::RequestReader(ReaderLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestReader::~RequestReader() = default;

RequestReader::Step RequestReader::feed(std::string& input) {
  Impl& self = *impl_;
  while (!self.begun && input.compare(0, 2, "\r\n") == 0) input.erase(0, 2);
  std::size_t used = 0;
  while (used < input.size() && !self.parser->is_done()) {
    if (self.parser->is_header_done() && !self.head_reported) break;
    self.begun = true;
    boost::system::error_code ec;
    const boost::asio::const_buffer rest(input.data() + used, input.size() - used);
    const std::size_t now = self.parser->put(rest, ec);
    used += now;
    if (ec == beast_http::error::need_more) break;
    if (ec) return self.fail(ec);
    if (now == 0) break;
  }
  input.erase(0, used);
  if (self.parser->is_header_done() && !self.head_reported) return self.report_head();
  if (self.parser->is_done()) return Step::kDone;
  if (input.size() > self.limits.header_bytes) {
    return self.fail(400, "the header of a chunk of the request body is too long");
  }
  return Step::kMore;
}

const Request& RequestReader::head() const { return impl_->head; }

bool RequestReader::expects_continue() const {
  const std::string* expect = impl_->head.header("expect");
  return expect != nullptr && lower_word({expect->data(), expect->size()}) == "100-continue" &&
         !impl_->parser->is_done();
}

bool RequestReader::in_request() const { return impl_->begun; }
bool RequestReader::in_body() const { return impl_->head_reported; }

Request RequestReader::take() {
  Request request = std::move(impl_->head);
  request.body = std::move(impl_->parser->get().body());
  impl_->restart();
  return request;
}

Response RequestReader::problem() const {
  Response response = http::problem(impl_->status, impl_->error);
  response.close = true;
  return response;
}

}  // namespace rota::http
