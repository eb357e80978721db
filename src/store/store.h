// The daemon's durable memory: one SQLite file (WAL, synchronous=FULL) in the state folder.
//
// All writes of one turn of the loop are one transaction: begin(), any writes, commit(). A write
// reports nothing by itself; commit() reports the first thing that went wrong and then nothing of
// the transaction has happened. What commit() has said yes to survives a crash of machine or
// program. Rows carry a digest, snapshots the engine's.
// Threads: one owner. Never throws.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/v1/event.h"
#include "api/v1/job.h"
#include "api/v1/submit.h"
#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "model/decision.h"
#include "model/launch.h"

namespace rota::store {

class Database;
class Statement;

/// One line of the journal: an accepted event, a cycle with its decisions, or a note of the server.
struct JournalRow {
  std::int64_t seq = 0;
  Instant time;
  std::string kind;
  std::string payload;  // JSON
};

struct SnapshotRow {
  std::int64_t seq = 0;  // of the last journal row it contains
  Instant time;
  std::uint64_t digest = 0;
  std::string state;
};

/// What one submit asked for; shared by all members of an array.
struct SubmissionRow {
  std::int64_t id = 0;
  std::string user;
  std::string job_class;
  LaunchSpec launch;
  api::SubmitRequest request;
};

struct JobRow {
  JobId job;
  std::int64_t submission = 0;
  std::string name;
  std::map<std::string, std::string> params;  // of a sweep member
};

enum class OrderKind { kStart, kStop };
constexpr auto names_of(OrderKind) { return std::array<std::string_view, 2>{"start", "stop"}; }

/// A decision that was handed out and whose attempt has not ended yet.
struct OrderRow {
  JobId job;
  std::int64_t attempt = 0;
  OrderKind kind = OrderKind::kStart;
  Decision decision;
};

struct HistoryRow {
  JobId job;
  Instant ended;
  api::Job record;
};

enum class HistoryOrder { kByJob, kNewestFirst };  // kNewestFirst: by end, then job, descending

/// Empty texts and lists: all.
struct HistoryQuery {
  std::string user;
  std::string queue;
  std::string array;
  std::vector<std::string> states;
  std::optional<Instant> ended_after;
  HistoryOrder order = HistoryOrder::kByJob;
  std::uint64_t after_job = 0;         // kByJob: jobs with a higher number only
  std::optional<Instant> ended_by;     // kNewestFirst: ended before that, or at that very instant
  std::uint64_t before_job = 0;        //   with a lower number
  std::int64_t limit = 500;
};

/// What to do with a journal that ends before what was once written to it.
enum class Loss { kRefuse, kAccept };

class Store {
 public:
  /// Makes folder and file when missing, takes the folder's lock, checks and migrates the file.
  /// Error: kConflict (another process has it), kCorruption (the file is kept as it is; also
  /// when it is sound but has lost its end, unless that is accepted), kUnsupported (newer schema),
  /// kUnavailable. A number once given is never given again, whatever was lost.
  static Result<std::unique_ptr<Store>> open(const std::string& directory,
                                             Loss loss = Loss::kRefuse);
  virtual ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // ---- transactions ----
  void begin();
  /// Error: nothing was done; the transaction is over either way. kCorruption also when the file
  /// or its -wal was deleted or replaced, found within a second or so.
  virtual Status commit();
  void rollback();
  /// A tiny durable write: tells whether the disk works again.
  virtual Status probe();

  // ---- writes, inside a transaction ----
  /// The first of `count` numbers never given before. Durable with the transaction.
  std::uint64_t take_ids(std::int64_t count);
  /// A transaction of its own: numbers up to `id` count as given.
  Status never_below(std::uint64_t id);
  std::int64_t append(Instant time, std::string_view kind, std::string_view payload);
  void add_submission(const SubmissionRow& row);  // id: from take_submission_id()
  std::int64_t take_submission_id();
  void add_job(const JobRow& row);
  void set_launch(std::int64_t submission, const LaunchSpec& launch);
  void set_job_name(JobId job, const std::string& name);
  void add_idempotency(const std::string& user, const std::string& key, Instant time,
                       const api::SubmitReply& reply);
  void add_order(const OrderRow& row);
  /// Forgets the orders of this attempt and of earlier ones of the job.
  void remove_orders(JobId job, std::int64_t attempt);
  /// Gives the event its place in the stream (sets seq).
  void add_event(Instant time, api::Event& event);
  void put_history(JobId job, Instant ended, const api::Job& record);
  void remove_history(JobId job);
  /// Keeps this and the snapshot before it, and the journal from there on.
  void put_snapshot(const SnapshotRow& row);
  void set_meta(const std::string& key, const std::string& value);

  struct Retention {
    Instant events_before;
    Instant history_before;
    Instant idempotency_before;
  };
  /// Deletes what is older, and submissions whose jobs are all gone. At most 10,000 rows of each
  /// kind a call.
  void prune(const Retention& retention);

  // ---- reads ----
  [[nodiscard]] Result<std::vector<SnapshotRow>> snapshots();  // newest first
  /// Rows after `seq`, ascending, at most `limit`. Error: kCorruption names the row.
  [[nodiscard]] Result<std::vector<JournalRow>> journal_after(std::int64_t seq,
                                                              std::int64_t limit = 4096);
  [[nodiscard]] Result<std::int64_t> first_journal_seq();      // 0: empty
  [[nodiscard]] Result<std::optional<SubmissionRow>> submission(std::int64_t id);
  [[nodiscard]] Result<std::optional<JobRow>> job(JobId job);
  /// The first job of the user's latest submission (`back` 0), of the one before it (1), ...
  [[nodiscard]] Result<std::optional<JobRow>> recent_job(const std::string& user,
                                                         std::int64_t back);
  [[nodiscard]] Result<std::optional<api::SubmitReply>> idempotent(const std::string& user,
                                                                   const std::string& key);
  [[nodiscard]] Result<std::vector<OrderRow>> orders();        // by job, attempt, kind
  /// Ascending; `user` and `job` empty: all. Events of no job are always included for a user. An
  /// array's number gives its members' events too.
  [[nodiscard]] Result<std::vector<api::Event>> events_after(std::int64_t seq,
                                                             const std::string& job,
                                                             const std::string& user,
                                                             std::int64_t limit);
  [[nodiscard]] std::int64_t last_event_seq() const;
  [[nodiscard]] Result<std::optional<api::Job>> history(JobId job);
  [[nodiscard]] Result<std::vector<HistoryRow>> history(const HistoryQuery& query);
  [[nodiscard]] Result<std::string> meta(const std::string& key);  // empty: not set
  [[nodiscard]] std::int64_t last_journal_seq() const;
  [[nodiscard]] std::uint64_t last_id() const;  // the highest number given; 0: none
  [[nodiscard]] const std::string& directory() const;

 protected:
  Store();
  /// What open() does, for classes that add faults of their own.
  Status open_in(const std::string& directory, Loss loss = Loss::kRefuse);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota::store
