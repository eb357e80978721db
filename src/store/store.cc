#include "store/store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "api/json.h"
#include "base/digest.h"
#include "store/database.h"
#include "store/folder.h"
#include "store/high_water.h"
#include "store/migrations.h"

namespace rota::store {
namespace {

constexpr const char* kFile = "/rota.db";
constexpr std::chrono::seconds kPlacesPeriod{1};

std::int64_t digest_of(std::int64_t seq, Instant time, std::string_view kind,
                       std::string_view payload) {
  Digest digest;
  digest.add(static_cast<std::uint64_t>(seq));
  digest.add(static_cast<std::uint64_t>(time.ns()));
  digest.add(kind);
  digest.add(payload);
  return static_cast<std::int64_t>(digest.value());
}

Error damaged(const std::string& what, const std::string& why) {
  return {.code = ErrorCode::kCorruption,
          .message = what + " is damaged (" + why + "); nothing was changed: restore the state "
                     "folder from a copy, or move it away to start afresh"};
}

std::int64_t number_of(JobId id) { return static_cast<std::int64_t>(id.value()); }
JobId job_of(std::int64_t number) { return JobId(static_cast<std::uint64_t>(number)); }

/// Device and inode.
std::optional<std::pair<dev_t, ino_t>> file_id(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

}  // namespace

struct Store::Impl {
  std::string directory;
  std::unique_ptr<FolderLock> lock;
  std::unique_ptr<HighWater> high_water;
  std::unique_ptr<Database> database;  // before the statements: destroyed after them
  std::map<std::string, Statement, std::less<>> statements;
  Counters counters;
  Counters durable;
  Status failure;  // the first error of the running transaction
  std::map<std::string, std::pair<dev_t, ino_t>> files;  // those that are open, by path
  std::chrono::steady_clock::time_point files_checked;

  /// The prepared statement of this text, made on first use.
  Result<Statement*> statement(std::string_view sql) {
    const auto found = statements.find(sql);
    if (found != statements.end()) return &found->second;
    Result<Statement> made = database->prepare(sql);
    if (!made.ok()) return made.error();
    return &statements.emplace(std::string(sql), *std::move(made)).first->second;
  }

  template <class... Values>
  static void bind_all(Statement& statement, const Values&... values) {
    int index = 0;
    (statement.bind(index++, values), ...);
  }

  template <class... Values>
  void write(std::string_view sql, const Values&... values) {
    if (!failure.ok()) return;
    const Result<Statement*> found = statement(sql);
    if (!found.ok()) {
      failure = found.error();
      return;
    }
    bind_all(**found, values...);
    failure = (*found)->run();
  }

  /// Calls `row(Statement&)` for each row; it returns a Status.
  template <class Row, class... Values>
  Status read(std::string_view sql, const Row& row, const Values&... values) {
    const Result<Statement*> found = statement(sql);
    if (!found.ok()) return found.error();
    Statement& query = **found;
    bind_all(query, values...);
    while (true) {
      const Result<bool> more = query.step();
      if (!more.ok()) return more.error();
      if (!*more) return {};
      const Status status = row(query);
      if (!status.ok()) {
        query.reset();
        return status;
      }
    }
  }

  template <class T>
  Status parse(const std::string& what, const std::string& text, T& out) {
    Result<T> value = api::from_text<T>(text);
    if (!value.ok()) return damaged(what, value.error().message);
    out = *std::move(value);
    return {};
  }

  Status load_counters();
  Status check_places();
  Status check_file();
  Status check_end(Loss loss);
};

Status Store::Impl::load_counters() {
  const Result<std::int64_t> version = schema_version(*database);
  if (!version.ok()) return version.error();
  if (*version == 0) return {};  // a new file
  const Result<std::string> text =
      database->query_text("SELECT value FROM meta WHERE key = 'counters'");
  if (!text.ok()) return text.error();
  if (!text->empty()) {
    const Status status = parse("the record of numbers given out", *text, counters);
    if (!status.ok()) return status;
  }
  durable = counters;
  return {};
}

/// Whether the files that are written to are still those that the next start will find. The system
/// is asked once a second at most.
Status Store::Impl::check_places() {
  const auto now = std::chrono::steady_clock::now();
  if (!files.empty() && now - files_checked < kPlacesPeriod) return {};
  for (const char* beside : {"", "-wal"}) {
    const std::string path = directory + kFile + beside;
    const std::optional<std::pair<dev_t, ino_t>> there = file_id(path);
    const auto open = files.find(path);
    if (open == files.end() && there) files[path] = *there;
    if (open == files.end() || (there && *there == open->second)) continue;
    return Error{.code = ErrorCode::kCorruption,
                 .message = "the journal's file " + path +
                            (there ? " was replaced" : " was deleted") + " while the daemon ran"};
  }
  files_checked = now;
  return {};
}

Status Store::Impl::check_file() {
  const Result<std::string> check = database->query_text("PRAGMA quick_check(1)");
  if (!check.ok()) {
    if (check.error().code != ErrorCode::kCorruption) return check.error();
    return damaged("the journal " + directory + kFile, check.error().message);
  }
  if (*check != "ok") return damaged("the journal " + directory + kFile, *check);
  return {};
}

/// Whether the journal reaches as far as it once did. Accepted: it goes on with numbers that were
/// never given; those of its own rows have to follow one another.
Status Store::Impl::check_end(Loss loss) {
  Result<std::unique_ptr<HighWater>> opened = HighWater::open(directory);
  if (!opened.ok()) return opened.error();
  high_water = *std::move(opened);
  const std::optional<Counters> high = high_water->read();
  if (!high || (high->journal <= counters.journal && high->id <= counters.id)) return {};
  if (loss == Loss::kRefuse) {
    return Error{
        .code = ErrorCode::kCorruption,
        .message = "the journal has lost its end: it has " + std::to_string(counters.journal) +
                   " rows and jobs up to " + std::to_string(counters.id) + ", and there were " +
                   std::to_string(high->journal) + " rows and jobs up to " +
                   std::to_string(high->id) +
                   ". Its file or the -wal file beside it was damaged, deleted or replaced by an "
                   "older one; nothing was changed. Restore the whole state folder from a copy; or "
                   "go on without what is lost, and have what still runs of it ended: rota serve "
                   "--accept-loss"};
  }
  counters.id = std::max(counters.id, high->id);
  counters.submission = std::max(counters.submission, high->submission);
  counters.event = std::max(counters.event, high->event);
  return {};
}

Store::Store() : impl_(std::make_unique<Impl>()) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const std::string& directory, Loss loss) {
  std::unique_ptr<Store> store(new Store());
  const Status status = store->open_in(directory, loss);
  if (!status.ok()) return status.error();
  return store;
}

Status Store::open_in(const std::string& directory, Loss loss) {
  Impl& impl = *impl_;
  impl.directory = directory;
  Result<std::unique_ptr<FolderLock>> lock = FolderLock::take(directory);
  if (!lock.ok()) return lock.error();
  impl.lock = *std::move(lock);
  // SQLite gives the files beside it the mode of this one.
  Status is_private = make_private(directory + kFile);
  for (const char* beside : {"-wal", "-shm"}) {
    const std::string path = directory + kFile + beside;
    if (is_private.ok() && ::access(path.c_str(), F_OK) == 0) is_private = make_private(path);
  }
  if (!is_private.ok()) return is_private;
  Result<std::unique_ptr<Database>> database = Database::open(directory + kFile);
  if (!database.ok()) return database.error();
  impl.database = *std::move(database);
  Status status = impl.check_file();
  if (status.ok()) status = impl.load_counters();
  if (status.ok()) status = impl.check_end(loss);
  if (status.ok()) {
    status = impl.database->execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
        "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;");
  }
  if (status.ok()) status = migrate(*impl.database);
  if (status.ok() && !(impl.counters == impl.durable)) {
    begin();
    status = Store::commit();
  }
  if (status.ok()) return status;
  impl.database->leave_as_it_is();
  Error error = status.error();
  if (error.where.empty()) error.where = directory + kFile;
  return error;
}

const std::string& Store::directory() const { return impl_->directory; }
std::int64_t Store::last_journal_seq() const { return impl_->counters.journal; }
std::uint64_t Store::last_id() const { return static_cast<std::uint64_t>(impl_->counters.id); }
std::int64_t Store::last_event_seq() const { return impl_->counters.event; }

// ---- transactions ----

void Store::begin() {
  impl_->failure = {};
  impl_->failure = impl_->database->execute("BEGIN IMMEDIATE");
}

Status Store::commit() {
  Impl& impl = *impl_;
  if (!(impl.counters == impl.durable)) set_meta("counters", api::to_text(impl.counters));
  if (impl.failure.ok()) impl.failure = impl.check_places();
  if (impl.failure.ok()) impl.failure = impl.database->execute("COMMIT");
  const Status result = impl.failure;
  if (!result.ok()) {
    rollback();
    return result;
  }
  if (!(impl.counters == impl.durable)) impl.high_water->write(impl.counters);
  impl.durable = impl.counters;
  return result;
}

void Store::rollback() {
  impl_->failure = {};
  impl_->counters = impl_->durable;
  if (impl_->database->in_transaction()) (void)impl_->database->execute("ROLLBACK");
}

Status Store::probe() {
  begin();
  set_meta("probe", std::string(4096, 'x'));
  Status status = commit();
  if (!status.ok()) return status;
  begin();
  set_meta("probe", "");
  return commit();
}

// ---- writes ----

std::uint64_t Store::take_ids(std::int64_t count) {
  const std::int64_t first = impl_->counters.id + 1;
  impl_->counters.id += count;
  return static_cast<std::uint64_t>(first);
}

Status Store::never_below(std::uint64_t id) {
  if (id <= last_id()) return {};
  begin();
  impl_->counters.id = static_cast<std::int64_t>(id);
  return commit();
}

std::int64_t Store::take_submission_id() { return ++impl_->counters.submission; }

std::int64_t Store::append(Instant time, std::string_view kind, std::string_view payload) {
  const std::int64_t seq = ++impl_->counters.journal;
  impl_->write("INSERT INTO journal(seq, time_ns, kind, payload, digest) VALUES(?,?,?,?,?)", seq,
               time.ns(), kind, payload, digest_of(seq, time, kind, payload));
  return seq;
}

void Store::add_submission(const SubmissionRow& row) {
  impl_->write("INSERT INTO submissions(id, user, class, launch, request) VALUES(?,?,?,?,?)",
               row.id, row.user, row.job_class, api::to_text(row.launch),
               api::to_text(row.request));
}

void Store::add_job(const JobRow& row) {
  impl_->write("INSERT INTO jobs(job, submission, name, params) VALUES(?,?,?,?)",
               number_of(row.job), row.submission, row.name, api::to_text(row.params));
}

void Store::set_launch(std::int64_t submission, const LaunchSpec& launch) {
  impl_->write("UPDATE submissions SET launch = ? WHERE id = ?", api::to_text(launch), submission);
}

void Store::set_job_name(JobId job, const std::string& name) {
  impl_->write("UPDATE jobs SET name = ? WHERE job = ?", name, number_of(job));
}

void Store::add_idempotency(const std::string& user, const std::string& key, Instant time,
                            const api::SubmitReply& reply) {
  impl_->write("INSERT OR REPLACE INTO idempotency(user, key, time_ns, reply) VALUES(?,?,?,?)",
               user, key, time.ns(), api::to_text(reply));
}

void Store::add_order(const OrderRow& row) {
  impl_->write("INSERT OR REPLACE INTO orders(job, attempt, kind, payload) VALUES(?,?,?,?)",
               number_of(row.job), row.attempt, name_of(row.kind), api::to_text(row.decision));
}

void Store::remove_orders(JobId job, std::int64_t attempt) {
  impl_->write("DELETE FROM orders WHERE job = ? AND attempt <= ?", number_of(job), attempt);
}

void Store::add_event(Instant time, api::Event& event) {
  event.seq = ++impl_->counters.event;
  impl_->write("INSERT INTO events(seq, time_ns, payload, job, user) VALUES(?,?,?,?,?)", event.seq,
               time.ns(), api::to_text(event), event.job, event.user);
}

void Store::put_history(JobId job, Instant ended, const api::Job& record) {
  impl_->write("INSERT OR REPLACE INTO history(job, ended_ns, payload, user, queue, array, state) "
               "VALUES(?,?,?,?,?,?,?)",
               number_of(job), ended.ns(), api::to_text(record), record.user, record.queue,
               record.array_id, record.state);
}

void Store::remove_history(JobId job) {
  impl_->write("DELETE FROM history WHERE job = ?", number_of(job));
}

void Store::put_snapshot(const SnapshotRow& row) {
  if (!impl_->failure.ok()) return;
  const Result<Statement*> insert = impl_->statement(
      "INSERT OR REPLACE INTO snapshots(seq, time_ns, digest, state) VALUES(?,?,?,?)");
  if (!insert.ok()) {
    impl_->failure = insert.error();
    return;
  }
  (*insert)->bind(0, row.seq).bind(1, row.time.ns());
  (*insert)->bind(2, static_cast<std::int64_t>(row.digest)).bind_blob(3, row.state);
  impl_->failure = (*insert)->run();
  impl_->write(
      "DELETE FROM snapshots WHERE seq NOT IN "
      "(SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 2)");
  impl_->write(
      "DELETE FROM journal WHERE (SELECT count(*) FROM snapshots) = 2 "
      "AND seq <= (SELECT min(seq) FROM snapshots)");
}

void Store::set_meta(const std::string& key, const std::string& value) {
  impl_->write("INSERT OR REPLACE INTO meta(key, value) VALUES(?,?)", key, value);
}

void Store::prune(const Retention& retention) {
  impl_->write(
      "DELETE FROM events WHERE seq IN "
      "(SELECT seq FROM events WHERE time_ns < ? LIMIT 10000)",
      retention.events_before.ns());
  impl_->write(
      "DELETE FROM jobs WHERE job IN "
      "(SELECT job FROM history WHERE ended_ns < ? LIMIT 10000)",
      retention.history_before.ns());
  impl_->write(
      "DELETE FROM submissions WHERE id IN (SELECT id FROM submissions AS s "
      "WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE submission = s.id) LIMIT 10000)");
  impl_->write(
      "DELETE FROM history WHERE job IN "
      "(SELECT job FROM history WHERE ended_ns < ? LIMIT 10000)",
      retention.history_before.ns());
  impl_->write("DELETE FROM idempotency WHERE time_ns < ?", retention.idempotency_before.ns());
}

// ---- reads ----

Result<std::vector<SnapshotRow>> Store::snapshots() {
  std::vector<SnapshotRow> out;
  const Status status = impl_->read(
      "SELECT seq, time_ns, digest, state FROM snapshots ORDER BY seq DESC",
      [&](Statement& row) {
        out.push_back({.seq = row.integer(0),
                       .time = Instant(row.integer(1)),
                       .digest = static_cast<std::uint64_t>(row.integer(2)),
                       .state = row.text(3)});
        return Status();
      });
  if (!status.ok()) return status.error();
  return out;
}

Result<std::vector<JournalRow>> Store::journal_after(std::int64_t seq, std::int64_t limit) {
  std::vector<JournalRow> out;
  std::int64_t before = seq;
  const Status status = impl_->read(
      "SELECT seq, time_ns, kind, payload, digest FROM journal WHERE seq > ? ORDER BY seq LIMIT ?",
      [&](Statement& row) -> Status {
        JournalRow line{.seq = row.integer(0),
                        .time = Instant(row.integer(1)),
                        .kind = row.text(2),
                        .payload = row.text(3)};
        const std::string what = "journal row " + std::to_string(line.seq);
        if (line.seq != ++before) return damaged(what, "the rows before it are missing");
        if (digest_of(line.seq, line.time, line.kind, line.payload) != row.integer(4)) {
          return damaged(what, "its digest does not match");
        }
        out.push_back(std::move(line));
        return {};
      },
      seq, limit);
  if (!status.ok()) return status.error();
  return out;
}

Result<std::int64_t> Store::first_journal_seq() {
  return impl_->database->query_integer("SELECT COALESCE(min(seq), 0) FROM journal");
}

Result<std::optional<SubmissionRow>> Store::submission(std::int64_t id) {
  std::optional<SubmissionRow> out;
  const Status status = impl_->read(
      "SELECT user, class, launch, request FROM submissions WHERE id = ?",
      [&](Statement& row) -> Status {
        SubmissionRow found{.id = id, .user = row.text(0), .job_class = row.text(1)};
        const std::string what = "submission " + std::to_string(id);
        Status parsed = impl_->parse(what, row.text(2), found.launch);
        if (parsed.ok()) parsed = impl_->parse(what, row.text(3), found.request);
        if (parsed.ok()) out = std::move(found);
        return parsed;
      },
      id);
  if (!status.ok()) return status.error();
  return out;
}

Result<std::optional<JobRow>> Store::job(JobId job) {
  std::optional<JobRow> out;
  const Status status = impl_->read(
      "SELECT submission, name, params FROM jobs WHERE job = ?",
      [&](Statement& row) -> Status {
        JobRow found{.job = job, .submission = row.integer(0), .name = row.text(1)};
        const std::string what = "the record of job " + std::to_string(job.value());
        const Status parsed = impl_->parse(what, row.text(2), found.params);
        if (parsed.ok()) out = std::move(found);
        return parsed;
      },
      number_of(job));
  if (!status.ok()) return status.error();
  return out;
}

Result<std::optional<JobRow>> Store::recent_job(const std::string& user, std::int64_t back) {
  std::optional<JobId> found;
  const Status status = impl_->read(
      "SELECT min(job) FROM jobs WHERE submission = "
      "(SELECT id FROM submissions WHERE user = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
      [&](Statement& row) {
        if (row.integer(0) != 0) found = job_of(row.integer(0));
        return Status();
      },
      user, back);
  if (!status.ok()) return status.error();
  if (!found) return std::optional<JobRow>();
  return job(*found);
}

Result<std::optional<api::SubmitReply>> Store::idempotent(const std::string& user,
                                                          const std::string& key) {
  std::optional<api::SubmitReply> out;
  const Status status = impl_->read(
      "SELECT reply FROM idempotency WHERE user = ? AND key = ?",
      [&](Statement& row) {
        return impl_->parse("the record of idempotency key " + key, row.text(0), out.emplace());
      },
      user, key);
  if (!status.ok()) return status.error();
  return out;
}

Result<std::vector<OrderRow>> Store::orders() {
  std::vector<OrderRow> out;
  const Status status = impl_->read(
      "SELECT job, attempt, kind, payload FROM orders ORDER BY job, attempt, kind",
      [&](Statement& row) -> Status {
        OrderRow order{.job = job_of(row.integer(0)), .attempt = row.integer(1)};
        order.kind = row.text(2) == "stop" ? OrderKind::kStop : OrderKind::kStart;
        const std::string what = "an order of job " + std::to_string(order.job.value());
        const Status parsed = impl_->parse(what, row.text(3), order.decision);
        if (parsed.ok()) out.push_back(std::move(order));
        return parsed;
      });
  if (!status.ok()) return status.error();
  return out;
}

Result<std::vector<api::Event>> Store::events_after(std::int64_t seq, const std::string& job,
                                                    const std::string& user,
                                                    std::int64_t limit) {
  std::vector<api::Event> out;
  const auto take = [&](Statement& row) {
    return impl_->parse("event " + std::to_string(row.integer(0)), row.text(1),
                        out.emplace_back());
  };
  // Two statements, so that each uses the index that fits.
  const Status status =
      job.empty()
          ? impl_->read("SELECT seq, payload FROM events WHERE seq > ? AND "
                        "(?2 = '' OR job = '' OR user = ?2) ORDER BY seq LIMIT ?3",
                        take, seq, user, limit)
          : impl_->read("SELECT seq, payload FROM events WHERE seq > ? AND "
                        "(job = ?2 OR (job > ?2 || '.' AND job < ?2 || '/')) AND "
                        "(?3 = '' OR user = ?3) ORDER BY seq LIMIT ?4",
                        take, seq, job, user, limit);
  if (!status.ok()) return status.error();
  return out;
}

Result<std::optional<api::Job>> Store::history(JobId job) {
  std::optional<api::Job> out;
  const Status status = impl_->read(
      "SELECT payload FROM history WHERE job = ?",
      [&](Statement& row) {
        return impl_->parse("the history of job " + std::to_string(job.value()), row.text(0),
                            out.emplace());
      },
      number_of(job));
  if (!status.ok()) return status.error();
  return out;
}

Result<std::vector<HistoryRow>> Store::history(const HistoryQuery& query) {
  const bool newest = query.order == HistoryOrder::kNewestFirst;
  std::string states;  // ",done,failed,"
  for (const std::string& state : query.states) states += (states.empty() ? "," : "") + state + ",";
  const std::string sql =
      std::string("SELECT job, ended_ns, payload FROM history WHERE (?1 = '' OR user = ?1) "
                  "AND (?2 = '' OR queue = ?2) AND (?3 = '' OR array = ?3) "
                  "AND (?4 = '' OR instr(?4, ',' || state || ',') > 0) AND ended_ns > ?5 ") +
      (newest ? "AND (ended_ns < ?6 OR (ended_ns = ?6 AND job < ?7)) "
                "ORDER BY ended_ns DESC, job DESC LIMIT ?8"
              : "AND (?6 IS NOT NULL) AND job > ?7 ORDER BY job LIMIT ?8");
  using Limits = std::numeric_limits<std::int64_t>;
  std::vector<HistoryRow> out;
  const Status status = impl_->read(
      sql.c_str(),
      [&](Statement& row) {
        HistoryRow& found = out.emplace_back(
            HistoryRow{.job = job_of(row.integer(0)), .ended = Instant(row.integer(1))});
        return impl_->parse("the history of job " + std::to_string(found.job.value()), row.text(2),
                            found.record);
      },
      query.user, query.queue, query.array, states,
      query.ended_after ? query.ended_after->ns() : Limits::min(),
      query.ended_by ? query.ended_by->ns() : Limits::max(),
      static_cast<std::int64_t>(newest ? query.before_job : query.after_job), query.limit);
  if (!status.ok()) return status.error();
  return out;
}

Result<std::string> Store::meta(const std::string& key) {
  std::string out;
  const Status status = impl_->read(
      "SELECT value FROM meta WHERE key = ?",
      [&](Statement& row) {
        out = row.text(0);
        return Status();
      },
      key);
  if (!status.ok()) return status.error();
  return out;
}

}  // namespace rota::store
