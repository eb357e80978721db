// A service for tests and fuzzing of the doors: a few objects in memory, and switches for trouble.
//
// kInline answers within the call, on the caller's thread; kThread answers from a driver thread of
// its own, as the daemon does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http/base64.h"
#include "server/service.h"

namespace rota::http {

class FakeService final : public server::Service {
 public:
  enum class Mode { kInline, kThread };

  explicit FakeService(Mode mode) : mode_(mode) {
    if (mode == Mode::kThread) driver_ = std::thread([this] { drive(); });
  }
  ~FakeService() override {
    if (!driver_.joinable()) return;
    run([this] { over_ = true; });
    driver_.join();
  }

  // Switches. Set them before, or through run().
  std::atomic<bool> healthy = true;
  std::atomic<bool> mute = false;           // takes calls and never answers
  std::optional<Error> failure;             // every answer is this error
  std::string log_text;
  bool log_final = false;
  std::vector<std::string> seen;            // what was called, in words
  std::vector<server::Caller> callers;
  std::vector<api::SubmitRequest> submitted;
  std::map<std::int64_t, std::function<void(const api::Event&)>> subscribers;
  std::vector<api::Event> journal;

  /// Runs `task` where answers are made; waits for it.
  void run_and_wait(const std::function<void()>& task) {
    if (mode_ == Mode::kInline) return task();
    std::mutex mutex;
    std::condition_variable done;
    bool finished = false;
    run([&] {
      task();
      const std::scoped_lock lock(mutex);
      finished = true;
      done.notify_one();
    });
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return finished; });
  }

  /// Appends events and tells the subscribers.
  void emit(std::int64_t count, const std::string& job = "1", std::size_t message_bytes = 8) {
    run_and_wait([&] {
      for (std::int64_t i = 0; i < count; ++i) {
        api::Event event;
        event.seq = journal.empty() ? 1 : journal.back().seq + 1;
        event.kind = "job_started";
        event.job = job;
        event.message = std::string(message_bytes, 'm');
        journal.push_back(event);
        for (const auto& [id, fn] : subscribers) fn(event);
      }
    });
  }

  void submit(const server::Caller& caller, api::SubmitRequest request,
              server::Reply<api::SubmitReply> done) override {
    answer(caller, "submit", std::move(done), [this, request] {
      api::SubmitReply reply{.id = "7", .ids = {"7"}, .state = "pending"};
      for (const api::SubmitRequest& known : submitted) {
        reply.repeated = reply.repeated || (!request.idempotency_key.empty() &&
                                            known.idempotency_key == request.idempotency_key);
      }
      if (!reply.repeated) submitted.push_back(request);
      return reply;
    });
  }
  void preview(const server::Caller& caller, api::SubmitRequest,
               server::Reply<api::Preview> done) override {
    answer(caller, "preview", std::move(done), [] { return api::Preview{.starts_now = true}; });
  }
  void jobs(const server::Caller& caller, server::JobQuery query,
            server::Reply<api::JobPage> done) override {
    answer(caller, "jobs user=" + query.user + " states=" + std::to_string(query.states.size()) +
                       (query.all ? " all" : ""),
           std::move(done), [query] {
             api::JobPage page;
             const std::int64_t first =
                 query.cursor.empty() ? 1 : std::stoll("0" + digits(query.cursor));
             for (std::int64_t i = first; i < first + query.limit && i <= kJobCount; ++i) {
               page.jobs.push_back({.id = std::to_string(i)});
             }
             if (first + query.limit <= kJobCount) {
               page.next_cursor = std::to_string(first + query.limit);
             }
             return page;
           });
  }
  void job(const server::Caller& caller, std::string id, server::Reply<api::Job> done) override {
    if (id == "404") return refuse(caller, "job " + id, std::move(done));
    answer(caller, "job " + id, std::move(done), [id] {
      return api::Job{.id = id == "@" ? "1" : id, .name = "train", .state = "running"};
    });
  }
  void why(const server::Caller& caller, std::string id,
           server::Reply<api::Verdict> done) override {
    answer(caller, "why " + id, std::move(done), [id] { return api::Verdict{.id = id}; });
  }
  void command(const server::Caller& caller, std::string id, std::string verb,
               server::Reply<api::JobPage> done) override {
    answer(caller, verb + " " + id, std::move(done), [id] {
      api::JobPage page;
      page.jobs.push_back({.id = id});
      return page;
    });
  }
  void update(const server::Caller& caller, std::string id, api::UpdateRequest changes,
              server::Reply<api::Job> done) override {
    answer(caller, "update " + id, std::move(done), [id, changes] {
      return api::Job{.id = id, .name = changes.name.value_or("")};
    });
  }
  void signal(const server::Caller& caller, std::string id, int signal_number,
              server::Reply<api::Job> done) override {
    answer(caller, "signal " + id + " " + std::to_string(signal_number), std::move(done),
           [id] { return api::Job{.id = id}; });
  }
  void request(const server::Caller& caller, std::string id,
               server::Reply<api::SubmitRequest> done) override {
    answer(caller, "request " + id, std::move(done),
           [] { return api::SubmitRequest{.name = "again"}; });
  }
  void log(const server::Caller& caller, std::string id, server::LogQuery query,
           server::Reply<api::LogChunk> done) override {
    answer(caller, "log " + id, std::move(done), [this, query] {
      const auto size = static_cast<std::int64_t>(log_text.size());
      const std::int64_t from = query.offset < 0 ? std::max<std::int64_t>(0, size + query.offset)
                                                 : std::min(query.offset, size);
      const std::string data = log_text.substr(static_cast<std::size_t>(from),
                                               static_cast<std::size_t>(query.limit));
      const bool end = from + static_cast<std::int64_t>(data.size()) == size;
      return api::LogChunk{.path = query.error_stream ? "err" : "out",
                           .offset = from,
                           .data = encode_base64(data),
                           .size = size,
                           .final = log_final && end};
    });
  }
  void nodes(const server::Caller& caller, server::Reply<std::vector<api::Node>> done) override {
    answer(caller, "nodes", std::move(done),
           [] { return std::vector<api::Node>{{.name = "node1"}}; });
  }
  void devices(const server::Caller& caller,
               server::Reply<std::vector<api::Device>> done) override {
    answer(caller, "devices", std::move(done),
           [] { return std::vector<api::Device>{{.node = "node1"}, {.node = "node1"}}; });
  }
  void node_command(const server::Caller& caller, std::string node, std::string verb,
                    std::string reason, server::Reply<api::Node> done) override {
    answer(caller, verb + " " + node + ": " + reason, std::move(done), [node, reason] {
      return api::Node{.name = node, .reason = reason};
    });
  }
  void queues(const server::Caller& caller,
              server::Reply<std::vector<api::Queue>> done) override {
    answer(caller, "queues", std::move(done),
           [] { return std::vector<api::Queue>{{.name = "research"}}; });
  }
  void queue_set(const server::Caller& caller, api::QueueRequest request,
                 server::Reply<api::Queue> done) override {
    answer(caller, "queue_set " + request.name, std::move(done), [request] {
      return api::Queue{.name = request.name, .weight = request.weight.value_or(1)};
    });
  }
  void events(const server::Caller& caller, server::EventQuery query,
              server::Reply<api::EventPage> done) override {
    answer(caller, "events after " + std::to_string(query.after_seq), std::move(done),
           [this, query] {
             api::EventPage page;
             for (const api::Event& event : journal) {
               if (static_cast<std::int64_t>(page.events.size()) == query.limit) break;
               if (event.seq > query.after_seq && (query.job.empty() || event.job == query.job)) {
                 page.events.push_back(event);
               }
             }
             page.last_seq = journal.empty() ? 0 : journal.back().seq;
             return page;
           });
  }
  std::int64_t subscribe(const server::Caller&,
                         std::function<void(const api::Event&)> fn) override {
    const std::int64_t id = ++last_subscription_;
    run([this, id, fn = std::move(fn)] { subscribers[id] = fn; });
    return id;
  }
  void unsubscribe(std::int64_t subscription) override {
    run([this, subscription] { subscribers.erase(subscription); });
  }
  void info(const server::Caller& caller, server::Reply<api::Server> done) override {
    answer(caller, "info", std::move(done), [this] {
      api::Server out{.version = "0.1.0"};
      out.healthy = healthy;
      out.last_event_seq = journal.empty() ? 0 : journal.back().seq;
      return out;
    });
  }
  void metrics(server::Reply<std::string> done) override {
    answer({}, "metrics", std::move(done), [] { return std::string("rota_up 1\n"); });
  }

  static constexpr std::int64_t kJobCount = 1200;

 private:
  static std::string digits(const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c >= '0' && c <= '9' && out.size() < 6) out.push_back(c);
    }
    return out;
  }

  void run(std::function<void()> task) {
    if (mode_ == Mode::kInline) return task();
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    more_.notify_one();
  }

  void drive() {
    while (!over_) {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [&] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  template <class T, class Make>
  void answer(const server::Caller& caller, std::string what, server::Reply<T> done, Make make) {
    run([this, caller, what = std::move(what), done = std::move(done), make] {
      note(caller, what);
      if (mute) return muted_.push_back([done] { (void)done; });
      done(failure ? Result<T>(*failure) : Result<T>(make()));
    });
  }

  template <class T>
  void refuse(const server::Caller& caller, std::string what, server::Reply<T> done) {
    run([this, caller, what = std::move(what), done = std::move(done)] {
      note(caller, what);
      done(Error{.code = ErrorCode::kNotFound, .message = "there is no job 404", .where = "id"});
    });
  }

  void note(const server::Caller& caller, const std::string& what) {
    seen.push_back(what);
    callers.push_back(caller);
  }

  Mode mode_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::function<void()>> muted_;  // answers that are owed for ever
  std::atomic<std::int64_t> last_subscription_ = 0;
  bool over_ = false;
  std::thread driver_;
};

}  // namespace rota::http
