// The one owner of engine, journal and orders. step() is one turn of the loop:
//
//   take waiting calls and facts -> apply and write them down -> run cycles, write decisions down
//   -> commit (one transaction for all of it) -> answer the callers -> hand the orders out
//
// Nothing is answered or ordered that is not durable. A failed commit (disk full) puts the engine
// back to what is durable; the driver then refuses changes, says so, and goes on once the disk
// works again.
//
// Threads: the Service calls, on_wake(), due_now() and pulse() may come from any thread; open(),
// step(), next_step() and close() belong to one thread, the driver thread. No thread is started
// here: the daemon and the simulated tests run the same code.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "server/as_account.h"
#include "server/clock.h"
#include "server/config.h"
#include "server/engine_log.h"
#include "server/job_book.h"
#include "server/metrics.h"
#include "server/orders.h"
#include "server/service.h"
#include "server/translate.h"
#include "server/views.h"
#include "server/wire.h"
#include "store/store.h"

namespace rota::server {

struct DriverOptions {
  std::unique_ptr<store::Store> store;
  Config config;
  backend::ExecutionBackend* backend = nullptr;  // must outlive the driver
  std::shared_ptr<Clock> clock;
  std::string backend_name;
  std::string devices_name;
  bool devices_simulated = false;
  std::function<Readings()> readings;            // null: none
  /// Runs work that may block (reading output files) elsewhere. Null: at once, here.
  std::function<void(std::function<void()>)> run_blocking;
  std::string version;
};

/// "only an administrator may ...".
[[nodiscard]] Error admins_only(const std::string& what);

/// What other threads may know of the driver at any time.
struct Pulse {
  Instant due;                       // it should have stepped by then
  std::int64_t jobs_pending = 0;
  std::vector<std::string> problems;
};

class Driver final : public Service {
 public:
  /// Recovers engine, jobs and orders from the store. Errors as EngineLog::recover().
  static Result<std::unique_ptr<Driver>> open(DriverOptions options);
  ~Driver() override;

  /// One turn. Cheap when nothing waits and nothing is due.
  void step(Instant now);
  /// When the next turn is due though nobody calls; at most cycle_interval ahead.
  [[nodiscard]] Instant next_step(Instant now) const;
  /// Takes a last snapshot and answers what still waits with kUnavailable.
  void close();

  /// `wake` is called, from any thread, when a turn has something to do. Set once, before calls.
  void on_wake(std::function<void()> wake);
  [[nodiscard]] Pulse pulse() const;
  /// There is something to do: from now on a missing turn counts as late.
  void due_now();
  void set_url(const std::string& url);

  /// For tests, on the driver thread.
  [[nodiscard]] const engine::Engine& engine() const { return log_->engine(); }
  [[nodiscard]] store::Store& store() { return *options_.store; }

  // ---- Service ----
  void submit(const Caller&, api::SubmitRequest, Reply<api::SubmitReply> done) override;
  void preview(const Caller&, api::SubmitRequest, Reply<api::Preview> done) override;
  void jobs(const Caller&, JobQuery, Reply<api::JobPage> done) override;
  void job(const Caller&, std::string id, Reply<api::Job> done) override;
  void why(const Caller&, std::string id, Reply<api::Verdict> done) override;
  void command(const Caller&, std::string id, std::string verb,
               Reply<api::JobPage> done) override;
  void update(const Caller&, std::string id, api::UpdateRequest, Reply<api::Job> done) override;
  void signal(const Caller&, std::string id, int signal_number, Reply<api::Job> done) override;
  void request(const Caller&, std::string id, Reply<api::SubmitRequest> done) override;
  void log(const Caller&, std::string id, LogQuery, Reply<api::LogChunk> done) override;
  void nodes(const Caller&, Reply<std::vector<api::Node>> done) override;
  void devices(const Caller&, Reply<std::vector<api::Device>> done) override;
  void node_command(const Caller&, std::string node, std::string verb, std::string reason,
                    Reply<api::Node> done) override;
  void queues(const Caller&, Reply<std::vector<api::Queue>> done) override;
  void queue_set(const Caller&, api::QueueRequest, Reply<api::Queue> done) override;
  void events(const Caller&, EventQuery, Reply<api::EventPage> done) override;
  std::int64_t subscribe(const Caller&, std::function<void(const api::Event&)> fn) override;
  void unsubscribe(std::int64_t subscription) override;
  void info(const Caller&, Reply<api::Server> done) override;
  void metrics(Reply<std::string> done) override;

 private:
  /// One turn's unfinished business.
  struct Turn {
    Instant now;
    bool changed = false;                                     // the engine saw an event
    std::vector<std::function<void(const Status&)>> answers;  // called after the commit
    std::vector<api::Event> events;                           // published after the commit
    backend::Facts facts;                                     // kept when the commit fails
    std::size_t late_facts = 0;                               // that many stand first
    std::vector<std::pair<JobId, std::int64_t>> over;         // attempts whose end is durable
    std::vector<JobId> limits;                                // running jobs with a new time limit
  };
  /// A stop that went to the back-end while the journal could not be written.
  struct UnwrittenCancel {
    JobId job;
    std::string user;
    Instant at;
  };
  struct Request {
    std::function<void(Turn&)> run;
    std::function<void(const Error&)> fail;
  };
  struct Subscription {
    Caller caller;
    std::function<void(const api::Event&)> fn;
  };
  /// What an id of a caller stands for.
  struct Target {
    std::string text;
    bool is_group = false;
    std::vector<JobId> jobs;             // known to the engine
    std::vector<store::HistoryRow> past;  // only in the history
    std::string user;
  };
  /// Where a rank of a job writes, and whose file it is.
  struct OutputPlace {
    std::string path;
    Account owner;
    std::string state;
    bool is_final = false;
  };
  /// A checked JobQuery.
  struct JobSearch {
    JobQuery query;
    std::uint64_t after = 0;
    std::size_t limit = 0;
    bool finals = false;  // ended jobs may match
    bool live = true;     // others may
    std::optional<Instant> ended_after;
    std::optional<Instant> ended_by;  // newest first: goes on behind that end
  };
  /// Words of a people event.
  struct Note {
    std::string kind;
    std::string state;
    std::string cause;
    std::string by;
    std::string message;
  };

  explicit Driver(DriverOptions options);

  // driver.cc: the loop
  Status load();
  void declare_config(Turn& turn);
  [[nodiscard]] std::vector<QueueSpec> declared_queues() const;  // as last applied, and by the file
  bool storage_works(Instant now);
  void note_storage_problem(const Error& error);
  [[nodiscard]] std::string storage_remedy() const;  // "free space in ..."
  void step_without_storage(Turn& turn);
  std::deque<Request> take_requests();
  bool something_due(Instant now) const;
  void decide(Turn& turn);
  void keep_house(Turn& turn);
  void commit_failed(Turn& turn, const Status& status);
  void finish(Turn& turn);
  void publish(const std::vector<api::Event>& events);
  void update_pulse(Instant now);
  Status apply(Turn& turn, const Event& event);
  [[nodiscard]] Status can_write() const;
  /// The caller, an administrator also when the configuration says so.
  [[nodiscard]] Caller ranked(Caller caller) const;
  void post(Request request);
  /// Queues a call; `work` runs in a turn, `done` gets its result once the turn is durable.
  template <class T>
  void call(Reply<T> done, std::function<Result<T>(Turn&)> work);

  // driver_nodes.cc
  void discover(Instant now);
  void compare_nodes(const std::vector<NodeSpec>& found);
  void node_fact(Turn& turn, const Event& fact);
  void node_differs(Turn& turn, const NodeSpec& node);
  void change_waiting_nodes(Turn& turn);
  void unmark(Turn& turn, const std::string& node);

  // driver_world.cc: back-end, facts, decisions, people events
  void ask_backend(Instant now);
  void repeat_time_limits();
  void tell_time_limit(JobId id);
  static std::size_t sort_late(Turn& turn);
  void take_late_facts(Turn& turn);
  void take_facts(Turn& turn);
  void take_fact(Turn& turn, const Event& fact);
  void attempt_started(Turn& turn, const AttemptStarted& fact);
  void attempt_ended(Turn& turn, const AttemptEnded& fact);
  void take_decision(Turn& turn, const Decision& decision);
  void job_changed(Turn& turn, const JobChanged& change);
  Result<api::Job> put_history(Turn& turn, JobId job);  // of a final one; the record
  void add_order(const store::OrderRow& row);
  void note_job(Turn& turn, JobId job, Note note);
  void note_node(Turn& turn, const std::string& node, Note note);
  void keep_event(Turn& turn, api::Event event, Note note);
  [[nodiscard]] std::string called(JobId job) const;  // "job 7 (train.sh)"
  [[nodiscard]] std::optional<backend::StartOrder> start_order(const StartAttempt& start) const;
  [[nodiscard]] Duration grace_of(JobId job, Duration grace) const;

  // driver_submit.cc
  Result<api::SubmitReply> do_submit(Turn& turn, const Caller& caller,
                                     const api::SubmitRequest& request,
                                     std::vector<std::string>& warnings_if_it_waits);
  Result<Translated> translate_for(Turn& turn, const Caller& caller,
                                   const api::SubmitRequest& request);
  Result<api::SubmitReply> repeated(api::SubmitReply reply, const api::SubmitRequest& request);
  Status submit_members(Turn& turn, const Translated& job, GroupId group, JobId first);
  [[nodiscard]] Status check_feasible(JobId job) const;
  [[nodiscard]] Error refusal(const api::Verdict& verdict, const JobShape& shape) const;
  [[nodiscard]] Status check_places(const api::SubmitRequest& request) const;
  void remember(Turn& turn, const Caller& caller, const api::SubmitRequest& request,
                const Translated& job, JobId first);
  Result<std::optional<Dependency>> dependency(const Caller& caller, DependencyKind kind,
                                               const std::string& id);
  Result<api::Preview> do_preview(Turn& turn, const Caller& caller,
                                  const api::SubmitRequest& request);

  // driver_queues.cc
  Result<std::string> pick_queue(const Caller& caller, const api::SubmitRequest& request) const;
  [[nodiscard]] Error no_such_queue(const std::string& name) const;
  [[nodiscard]] Status check_queue(const Caller& caller, const std::string& name) const;
  Status ensure_queue(Turn& turn, const Caller& caller, const std::string& queue);
  Status load_personal_queues();
  void keep_personal_queues();
  void open_declared_queues();
  Result<api::Queue> do_queue_set(Turn& turn, const Caller& caller,
                                  const api::QueueRequest& request);

  // driver_control.cc
  Result<Target> resolve(const Caller& caller, const std::string& id);
  Result<Target> resolve_number(const JobRef& ref);
  Result<Target> resolve_past(const JobRef& ref);
  /// resolve(), and the caller may change or see all of it.
  Result<Target> resolve_own(const Caller& caller, const std::string& id);
  Result<api::JobPage> do_command(Turn& turn, const Caller& caller, const std::string& id,
                                  const std::string& verb);
  Error stop_unwritten(Turn& turn, const Caller& caller, const std::string& id,
                       const Error& refused);
  void write_cancels(Turn& turn);
  Result<api::Job> do_update(Turn& turn, const Caller& caller, const std::string& id,
                             const api::UpdateRequest& update);
  Status update_one(Turn& turn, const Caller& caller, JobId job,
                    const api::UpdateRequest& update);
  [[nodiscard]] Result<JobSpec> updated_spec(const Caller& caller, JobId job,
                                             const api::UpdateRequest& update) const;
  [[nodiscard]] Status check_update(Turn& turn, const Caller& caller, const Target& target,
                                    const api::UpdateRequest& update) const;
  Result<api::Job> do_signal(Turn& turn, const Caller& caller, const std::string& id,
                             int signal_number);
  Result<api::Node> do_node_command(Turn& turn, const Caller& caller, const std::string& node,
                                    const std::string& verb, const std::string& reason);

  // driver_views.cc
  Result<api::JobPage> do_jobs(Turn& turn, const Caller& caller, JobQuery query);
  Result<JobSearch> read_search(const JobQuery& query) const;
  void search_engine(Instant now, const JobSearch& search,
                     std::map<JobId, api::Job>& found) const;
  void write_just_ended(Turn& turn);
  Status search_history(const JobSearch& search, std::map<JobId, api::Job>& found);
  [[nodiscard]] static store::HistoryQuery history_query(const JobSearch& search);
  Result<api::JobPage> newest_page(const Caller& caller, const JobSearch& search);
  static void add_to_page(const Caller& caller, api::Job job, api::JobPage& page);
  Status check_filters(const JobQuery& query);
  void set_true_submit(api::Job& job) const;
  Result<OutputPlace> find_output(Turn& turn, const Caller& caller, const std::string& id,
                                  const LogQuery& query);
  static Result<api::LogChunk> read_chunk(const OutputPlace& place, const LogQuery& query);
  Result<api::Job> do_job(Turn& turn, const Caller& caller, const std::string& id);
  Result<api::Verdict> do_why(const Caller& caller, const std::string& id);
  Result<api::SubmitRequest> do_request(const Caller& caller, const std::string& id);
  Result<api::EventPage> do_events(const Caller& caller, const EventQuery& query);
  api::Server do_info() const;
  [[nodiscard]] Readings readings() const;
  [[nodiscard]] Views views() const { return Views(log_->engine(), book_); }

  DriverOptions options_;
  Instant started_;
  std::optional<EngineLog> log_;
  JobBook book_;
  Orders orders_;
  Metrics metrics_;
  std::map<std::string, std::string> personal_queues_;  // queue made for a person -> whose

  backend::Facts facts_;               // to be taken in the next turn
  std::map<std::string, NodeSpec> waiting_nodes_;  // to become this when they are empty
  std::vector<UnwrittenCancel> unwritten_cancels_;
  bool config_declared_ = false;
  bool discovered_ = false;            // nodes are known since this start
  bool reconciled_ = false;            // attempts are known since this start or a failed commit
  Instant backend_retry_at_;
  Instant reconcile_at_;
  std::string backend_problem_;
  std::string storage_problem_;        // empty: commits work
  bool storage_damaged_ = false;       // ... and no free space would help
  bool engine_is_durable_ = true;      // false: a failed commit left it ahead of the journal
  Instant storage_retry_at_;
  Instant last_cycle_;
  Instant last_house_;
  Instant last_prune_;
  bool cycle_again_ = false;

  mutable std::mutex inbox_mutex_;
  std::deque<Request> inbox_;
  bool closed_ = false;
  std::function<void()> wake_;

  std::recursive_mutex subscriptions_mutex_;
  std::map<std::int64_t, Subscription> subscriptions_;
  std::int64_t last_subscription_ = 0;

  mutable std::mutex pulse_mutex_;
  Pulse pulse_;
  std::string url_;
};

template <class T>
void Driver::call(Reply<T> done, std::function<Result<T>(Turn&)> work) {
  auto shared = std::make_shared<Reply<T>>(std::move(done));
  post({.run =
            [shared, work = std::move(work)](Turn& turn) {
              auto result = std::make_shared<Result<T>>(work(turn));
              turn.answers.push_back([shared, result](const Status& durable) {
                if (durable.ok()) {
                  (*shared)(std::move(*result));
                } else {
                  (*shared)(durable.error());
                }
              });
            },
        .fail = [shared](const Error& error) { (*shared)(error); }});
}

}  // namespace rota::server
