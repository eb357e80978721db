#include "http/routes_jobs.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/utf8.h"

namespace rota::http {
namespace {

constexpr std::size_t kKeyBytesMax = 255;
constexpr std::int64_t kNumberMax = std::int64_t{1} << 53U;  // exact in every JSON reader

Status take_key(const Call& call, api::SubmitRequest& request) {
  const std::string* key = call.request().header("idempotency-key");
  if (key != nullptr && request.idempotency_key.empty()) request.idempotency_key = *key;
  if (key != nullptr && request.idempotency_key != *key) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = "header Idempotency-Key and field idempotency_key differ",
                 .where = "idempotency_key"};
  }
  if (request.idempotency_key.size() > kKeyBytesMax || !is_utf8(request.idempotency_key)) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("the idempotency key must be at most {} bytes of UTF-8",
                                        kKeyBytesMax),
                 .where = "idempotency_key"};
  }
  return {};
}

Result<server::JobQuery> read_job_query(const Query& query) {
  server::JobQuery out;
  out.user = query.text("user");
  out.queue = query.text("queue");
  out.array = query.text("array");
  out.states = query.list("state");
  out.cursor = query.text("cursor");
  out.ended_after = query.text("ended_after");
  const std::string order = query.text("order");
  if (!order.empty() && order != "newest" && order != "id") {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("query parameter order='{}' must be id or newest", order),
                 .where = "order"};
  }
  out.newest_first = order == "newest";
  const Result<bool> all = query.flag("all");
  if (!all) return all.error();
  out.all = *all;
  const auto limit = query.integer("limit", out.limit, {1, 5000});
  if (!limit) return limit.error();
  out.limit = *limit;
  return out;
}

Result<server::LogQuery> read_log_query(const Query& query) {
  server::LogQuery out;
  const std::string stream = query.text("stream");
  if (!stream.empty() && stream != "stdout" && stream != "stderr") {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("query parameter stream='{}' must be stdout or stderr",
                                        stream),
                 .where = "stream"};
  }
  out.error_stream = stream == "stderr";
  struct Number {
    std::string_view name;
    std::int64_t& value;
    Range range;
  };
  for (const Number& number : {Number{"rank", out.rank, {0, 1'000'000}},
                               Number{"attempt", out.attempt, {0, 1'000'000}},
                               Number{"offset", out.offset, {-kNumberMax, kNumberMax}},
                               Number{"limit", out.limit, {1, 1024 * 1024}}}) {
    const auto read = query.integer(number.name, number.value, number.range);
    if (!read) return read.error();
    number.value = *read;
  }
  return out;
}

/// A log that is asked again until it has something new, is final, or the time is over.
struct LogWait {
  std::shared_ptr<Call> call;
  server::LogQuery query;
  std::chrono::steady_clock::time_point end;
  std::chrono::milliseconds pause{20};
  std::shared_ptr<void> timer;
};

void ask_log(const std::shared_ptr<LogWait>& wait);

void use_chunk(const std::shared_ptr<LogWait>& wait, const api::LogChunk& chunk) {
  const bool over = std::chrono::steady_clock::now() >= wait->end;
  if (!chunk.data.empty() || chunk.final || over) {
    wait->timer.reset();
    wait->call->answer(json_response(200, chunk));
    return;
  }
  // From the end: what was the end at the first question stays the place to go on from.
  if (wait->query.offset < 0) wait->query.offset = chunk.offset;
  // The loop owns the task, and with it the wait, until it runs or the loop ends.
  wait->timer =
      wait->call->context().loop->later(wait->pause, [wait] { ask_log(wait); });
  wait->pause = std::min(wait->pause * 2, std::chrono::milliseconds(250));
}

void ask_log(const std::shared_ptr<LogWait>& wait) {
  Call& call = *wait->call;
  if (call.answered()) return;
  call.service().log(call.caller(), call.argument(), wait->query,
                     call.then<api::LogChunk>([wait](Call&, const api::LogChunk& chunk) {
                       use_chunk(wait, chunk);
                     }));
}

}  // namespace

void submit_job(const std::shared_ptr<Call>& call) {
  Result<api::SubmitRequest> request = call->body<api::SubmitRequest>();
  if (!request) return call->fail(request.error());
  const Status key = take_key(*call, *request);
  if (!key) return call->fail(key.error());
  call->service().submit(
      call->caller(), std::move(*request),
      call->then<api::SubmitReply>([](Call& done, const api::SubmitReply& reply) {
        Response response = json_response(reply.repeated ? 200 : 201, reply);
        response.headers.emplace_back("Location", "/api/v1/jobs/" + encode_percent(reply.id));
        done.answer(std::move(response));
      }));
}

void preview_job(const std::shared_ptr<Call>& call) {
  Result<api::SubmitRequest> request = call->body<api::SubmitRequest>();
  if (!request) return call->fail(request.error());
  call->service().preview(call->caller(), std::move(*request), call->then_json<api::Preview>());
}

void list_jobs(const std::shared_ptr<Call>& call) {
  Result<server::JobQuery> query = read_job_query(call->query());
  if (!query) return call->fail(query.error());
  call->service().jobs(call->caller(), std::move(*query), call->then_json<api::JobPage>());
}

void show_job(const std::shared_ptr<Call>& call) {
  call->service().job(call->caller(), call->argument(), call->then_json<api::Job>());
}

void explain_job(const std::shared_ptr<Call>& call) {
  call->service().why(call->caller(), call->argument(), call->then_json<api::Verdict>());
}

void show_request(const std::shared_ptr<Call>& call) {
  call->service().request(call->caller(), call->argument(),
                          call->then_json<api::SubmitRequest>());
}

void read_log(const std::shared_ptr<Call>& call) {
  Result<server::LogQuery> query = read_log_query(call->query());
  if (!query) return call->fail(query.error());
  const auto seconds = call->query().integer("wait", 0, {0, 30});
  if (!seconds) return call->fail(seconds.error());
  auto wait = std::make_shared<LogWait>();
  wait->call = call;
  wait->query = *query;
  wait->end = std::chrono::steady_clock::now() + std::chrono::seconds(*seconds);
  ask_log(wait);
}

void command_job(const std::shared_ptr<Call>& call) {
  call->service().command(call->caller(), call->argument(), std::string(call->route().verb),
                          call->then_json<api::JobPage>());
}

void signal_job(const std::shared_ptr<Call>& call) {
  const Result<api::SignalRequest> request = call->body<api::SignalRequest>();
  if (!request) return call->fail(request.error());
  if (request->signal < 1 || request->signal > 64) {
    return call->fail({.code = ErrorCode::kInvalidArgument,
                       .message = "a signal is a number from 1 to 64 (15 asks to end)",
                       .where = "signal"});
  }
  call->service().signal(call->caller(), call->argument(), static_cast<int>(request->signal),
                         call->then_json<api::Job>());
}

void update_job(const std::shared_ptr<Call>& call) {
  Result<api::UpdateRequest> request = call->body<api::UpdateRequest>();
  if (!request) return call->fail(request.error());
  call->service().update(call->caller(), call->argument(), std::move(*request),
                         call->then_json<api::Job>());
}

}  // namespace rota::http
