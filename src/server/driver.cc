#include "server/driver.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "api/json.h"

namespace rota::server {
namespace {

constexpr std::size_t kInboxMax = 20'000;
constexpr std::size_t kRequestsPerTurn = 2'000;
constexpr int kCyclesPerTurn = 16;
constexpr Duration kStorageRetry = Duration::seconds(1);
constexpr Duration kHouseInterval = Duration::minutes(1);
constexpr Duration kPruneInterval = Duration::hours(1);
constexpr Duration kIdempotencyRetention = Duration::days(7);

/// What the configuration declared when it was last applied; a change made at run time with
/// `rota queue set` stays until the file itself says something new.
struct Declared {
  Policy policy;
  std::vector<QueueSpec> queues;
  std::vector<UserSpec> users;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("policy", self.policy);
    visit("queues", self.queues);
    visit("users", self.users);
  }
};

constexpr const char* kDeclaredKey = "declared";

}  // namespace

Error admins_only(const std::string& what) {
  return {.code = ErrorCode::kDenied,
          .message = "only an administrator may " + what +
                     "; ask whoever runs the daemon, or be listed under 'admins' in rota.yaml"};
}

Driver::Driver(DriverOptions options)
    : options_(std::move(options)), started_(options_.clock->now()) {}

Driver::~Driver() = default;

Result<std::unique_ptr<Driver>> Driver::open(DriverOptions options) {
  std::unique_ptr<Driver> driver(new Driver(std::move(options)));
  const Status status = driver->load();
  if (!status.ok()) return status.error();
  driver->update_pulse(driver->started_);
  return driver;
}

/// Everything in memory from what is durable.
Status Driver::load() {
  store::Store& store = *options_.store;
  Result<EngineLog> log = EngineLog::recover(store);
  if (!log.ok()) return log.error();
  Result<JobBook> book = JobBook::load(store, log->engine());
  if (!book.ok()) return book.error();
  const Result<std::vector<store::OrderRow>> orders = store.orders();
  if (!orders.ok()) return orders.error();
  log_.emplace(*std::move(log));
  book_ = *std::move(book);
  orders_.restore(*orders);
  const Status personal = load_personal_queues();
  if (!personal.ok()) return personal;
  reconciled_ = false;
  engine_is_durable_ = true;
  return {};
}

void Driver::post(Request request) {
  {
    const std::lock_guard lock(inbox_mutex_);
    if (!closed_ && inbox_.size() < kInboxMax) {
      inbox_.push_back(std::move(request));
      due_now();
      if (wake_) wake_();
      return;
    }
  }
  request.fail({.code = ErrorCode::kUnavailable,
                .message = closed_ ? "the daemon is stopping; try again when it is back"
                                   : "the daemon has too many calls waiting; try again"});
}

void Driver::due_now() {
  const Instant now = options_.clock->now();
  const std::lock_guard lock(pulse_mutex_);
  pulse_.due = std::min(pulse_.due, now);
}

void Driver::on_wake(std::function<void()> wake) {
  const std::lock_guard lock(inbox_mutex_);
  wake_ = std::move(wake);
}

std::deque<Driver::Request> Driver::take_requests() {
  const std::lock_guard lock(inbox_mutex_);
  std::deque<Request> taken;
  if (inbox_.size() <= kRequestsPerTurn) {
    taken.swap(inbox_);
    return taken;
  }
  const auto end = inbox_.begin() + static_cast<std::ptrdiff_t>(kRequestsPerTurn);
  taken.assign(std::make_move_iterator(inbox_.begin()), std::make_move_iterator(end));
  inbox_.erase(inbox_.begin(), end);
  return taken;
}

Caller Driver::ranked(Caller caller) const {
  const std::vector<std::string>& admins = options_.config.admins;
  caller.admin = caller.admin || std::find(admins.begin(), admins.end(), caller.user) !=
                                     admins.end();
  return caller;
}

Status Driver::can_write() const {
  if (storage_problem_.empty()) return {};
  return Error{.code = ErrorCode::kUnavailable,
               .message = "nothing new is accepted, since it could not be kept: " +
                          storage_problem_ + "; " + storage_remedy() + " and try again"};
}

std::string Driver::storage_remedy() const {
  const std::string& folder = options_.store->directory();
  if (!storage_damaged_) return "free space in " + folder;
  return "put the file back, or stop the daemon and restore " + folder + " from a copy,";
}

Status Driver::apply(Turn& turn, const Event& event) {
  Status status = log_->apply(turn.now, event);
  if (status.ok()) turn.changed = true;
  return status;
}

void Driver::step(Instant now) {
  Turn turn{.now = log_->clamp(now)};
  if (!storage_works(turn.now)) {
    step_without_storage(turn);
    return;
  }
  ask_backend(turn.now);
  std::deque<Request> requests = take_requests();
  turn.facts = std::exchange(facts_, {});
  for (Event& fact : options_.backend->poll()) turn.facts.push_back(std::move(fact));
  if (requests.empty() && turn.facts.empty() && !something_due(turn.now)) {
    update_pulse(now);
    return;
  }
  options_.store->begin();
  write_cancels(turn);
  take_late_facts(turn);
  declare_config(turn);
  take_facts(turn);
  for (Request& request : requests) request.run(turn);
  decide(turn);
  keep_house(turn);
  const Status status = options_.store->commit();
  if (status.ok()) {
    finish(turn);
  } else {
    commit_failed(turn, status);
  }
  update_pulse(now);
}

/// True when commits work. After a failure: asks the disk now and then; once it works again the
/// engine is what is durable, and the back-end is asked for what was missed.
bool Driver::storage_works(Instant now) {
  if (storage_problem_.empty()) return true;
  if (now < storage_retry_at_) return false;
  storage_retry_at_ = now + kStorageRetry;
  Status status = options_.store->probe();
  if (status.ok() && !engine_is_durable_) status = load();
  if (!status.ok()) {
    metrics_.commit_failed();
    note_storage_problem(status.error());
    return false;
  }
  spdlog::info("storage works again");
  storage_problem_.clear();
  return true;
}

void Driver::note_storage_problem(const Error& error) {
  storage_problem_ = error.message;
  storage_damaged_ = error.code == ErrorCode::kCorruption;
}

void Driver::step_without_storage(Turn& turn) {
  for (Request& request : take_requests()) request.run(turn);
  for (const auto& answer : turn.answers) answer({});
  update_pulse(turn.now);
}

void Driver::commit_failed(Turn& turn, const Status& status) {
  metrics_.commit_failed();
  note_storage_problem(status.error());
  storage_retry_at_ = turn.now + kStorageRetry;
  spdlog::error("the journal cannot be written: {}", storage_problem_);
  engine_is_durable_ = false;
  config_declared_ = false;
  // What the back-end told is told to the engine again; the rest of the turn never happened.
  facts_ = std::move(turn.facts);
  (void)load();
  const Status refused = can_write();
  for (const auto& answer : turn.answers) answer(refused);
}

/// The turn is durable: tell everybody, then act.
void Driver::finish(Turn& turn) {
  unwritten_cancels_.clear();
  for (const auto& [job, attempt] : turn.over) options_.backend->forget(job, attempt);
  for (const auto& answer : turn.answers) answer({});
  publish(turn.events);
  orders_.send(turn.now, *options_.backend,
               {.start = [this](const StartAttempt& start) { return start_order(start); },
                .grace = [this](JobId job, Duration grace) { return grace_of(job, grace); }},
               facts_);
  for (const JobId id : turn.limits) tell_time_limit(id);
}

void Driver::publish(const std::vector<api::Event>& events) {
  const std::lock_guard lock(subscriptions_mutex_);
  for (const api::Event& event : events) {
    for (const auto& [id, subscription] : subscriptions_) {
      if (event.job.empty() || owns(subscription.caller, event.user)) subscription.fn(event);
    }
  }
}

bool Driver::something_due(Instant now) const {
  if (!config_declared_ || cycle_again_ || !unwritten_cancels_.empty()) return true;
  if (!reconciled_) return false;
  const std::optional<Instant> wakeup = log_->engine().next_wakeup();
  const std::optional<Instant> retry = orders_.next_retry();
  return (wakeup && *wakeup <= now) || (retry && *retry <= now) ||
         now - last_cycle_ >= options_.config.cycle_interval;
}

Instant Driver::next_step(Instant now) const {
  {
    const std::lock_guard lock(inbox_mutex_);
    if (!inbox_.empty()) return now;
  }
  if (!storage_problem_.empty()) return storage_retry_at_;
  if (!facts_.empty() || cycle_again_ || !config_declared_ || !unwritten_cancels_.empty()) {
    return now;
  }
  Instant next = last_cycle_ + options_.config.cycle_interval;
  const auto sooner = [&](std::optional<Instant> time) {
    if (time && *time < next) next = *time;
  };
  if (!discovered_ || !reconciled_) return std::max(now, backend_retry_at_);
  sooner(log_->engine().next_wakeup());
  sooner(orders_.next_retry());
  sooner(reconcile_at_);
  return std::max(now, next);
}

void Driver::decide(Turn& turn) {
  // Before the back-end was asked, devices may be in use that the engine believes free.
  if (!reconciled_) return;
  const std::optional<Instant> wakeup = log_->engine().next_wakeup();
  const bool due = turn.changed || cycle_again_ || (wakeup && *wakeup <= turn.now) ||
                   turn.now - last_cycle_ >= options_.config.cycle_interval;
  if (!due) return;
  cycle_again_ = true;
  for (int i = 0; i < kCyclesPerTurn && cycle_again_; ++i) {
    const Instant before = options_.clock->now();
    const engine::CycleResult result = log_->cycle(turn.now);
    metrics_.cycle(seconds_of(options_.clock->now() - before));
    for (const Decision& decision : result.decisions) take_decision(turn, decision);
    cycle_again_ = result.changed;
  }
  last_cycle_ = turn.now;
}

void Driver::keep_house(Turn& turn) {
  if (turn.now - last_house_ >= kHouseInterval) {
    last_house_ = turn.now;
    log_->forget_finished(turn.now, turn.now - options_.config.finished_in_memory);
    book_.keep_only(log_->engine());
  }
  if (turn.now - last_prune_ >= kPruneInterval) {
    last_prune_ = turn.now;
    options_.store->prune({.events_before = turn.now - options_.config.event_retention,
                           .history_before = turn.now - options_.config.history_retention,
                           .idempotency_before = turn.now - kIdempotencyRetention});
  }
  if (log_->rows_since_snapshot() >= options_.config.snapshot_every) log_->snapshot();
}

std::vector<QueueSpec> Driver::declared_queues() const {
  std::vector<QueueSpec> queues = options_.config.queues;
  const Result<std::string> text = options_.store->meta(kDeclaredKey);
  if (!text.ok() || text->empty()) return queues;
  const Result<Declared> before = api::from_text<Declared>(*text);
  if (before.ok()) queues.insert(queues.end(), before->queues.begin(), before->queues.end());
  return queues;
}

/// Tells the engine the policy, queues and users of the file where they are new or changed.
void Driver::declare_config(Turn& turn) {
  if (config_declared_) return;
  config_declared_ = true;
  Declared before;
  const Result<std::string> text = options_.store->meta(kDeclaredKey);
  const bool is_first = !text.ok() || text->empty();
  if (!is_first) {
    if (Result<Declared> read = api::from_text<Declared>(*text); read.ok()) before = *read;
  }
  const Config& config = options_.config;
  Declared now{.policy = config.policy, .queues = config.queues, .users = {}};
  // Refusing is decided job by job at submit, so that --hold-infeasible can say otherwise.
  now.policy.infeasible = Infeasible::kHold;
  for (const UserConfig& user : config.users) now.users.push_back({user.name, user.limit});
  const auto tell = [&](const Event& event) {
    const Status status = apply(turn, event);
    if (!status.ok()) spdlog::error("configuration: {}", status.error().message);
  };
  if (is_first || !(now.policy == before.policy)) tell(PolicySet{now.policy});
  for (const QueueSpec& queue : now.queues) {
    if (std::find(before.queues.begin(), before.queues.end(), queue) == before.queues.end()) {
      tell(QueueSet{queue});
    }
  }
  for (const UserSpec& user : now.users) {
    if (std::find(before.users.begin(), before.users.end(), user) == before.users.end()) {
      tell(UserSet{user});
    }
  }
  options_.store->set_meta(kDeclaredKey, api::to_text(now));
  open_declared_queues();
}

void Driver::update_pulse(Instant now) {
  Pulse pulse{.due = next_step(now), .jobs_pending = log_->engine().cluster().pending};
  if (!storage_problem_.empty()) pulse.problems.push_back("storage: " + storage_problem_);
  if (!backend_problem_.empty()) pulse.problems.push_back("back-end: " + backend_problem_);
  const std::lock_guard lock(pulse_mutex_);
  pulse_ = std::move(pulse);
}

Pulse Driver::pulse() const {
  const std::lock_guard lock(pulse_mutex_);
  return pulse_;
}

void Driver::set_url(const std::string& url) {
  const std::lock_guard lock(pulse_mutex_);
  url_ = url;
}

void Driver::close() {
  std::deque<Request> waiting;
  {
    const std::lock_guard lock(inbox_mutex_);
    closed_ = true;
    waiting.swap(inbox_);
  }
  for (Request& request : waiting) {
    request.fail({.code = ErrorCode::kUnavailable,
                  .message = "the daemon is stopping; try again when it is back"});
  }
  // A snapshot stands between turns; before the first cycle the journal alone is the truth.
  if (!storage_problem_.empty() || !reconciled_) return;
  options_.store->begin();
  log_->snapshot();
  const Status status = options_.store->commit();
  if (!status.ok()) spdlog::error("no last snapshot: {}", status.error().message);
}

}  // namespace rota::server
