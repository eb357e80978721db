#include "store/migrations.h"

#include <array>
#include <string>

namespace rota::store {
namespace {

constexpr std::array<std::string_view, 3> kSteps = {
    // 1: everything the loop needs.
    R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE journal(
  seq INTEGER PRIMARY KEY,
  time_ns INTEGER NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  digest INTEGER NOT NULL);
CREATE TABLE snapshots(
  seq INTEGER PRIMARY KEY,
  time_ns INTEGER NOT NULL,
  digest INTEGER NOT NULL,
  state BLOB NOT NULL);
CREATE TABLE submissions(
  id INTEGER PRIMARY KEY,
  user TEXT NOT NULL,
  class TEXT NOT NULL,
  launch TEXT NOT NULL,
  request TEXT NOT NULL);
CREATE TABLE jobs(
  job INTEGER PRIMARY KEY,
  submission INTEGER NOT NULL,
  name TEXT NOT NULL,
  params TEXT NOT NULL);
CREATE TABLE idempotency(
  user TEXT NOT NULL,
  key TEXT NOT NULL,
  time_ns INTEGER NOT NULL,
  reply TEXT NOT NULL,
  PRIMARY KEY(user, key)) WITHOUT ROWID;
CREATE TABLE orders(
  job INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  PRIMARY KEY(job, attempt, kind)) WITHOUT ROWID;
CREATE TABLE events(
  seq INTEGER PRIMARY KEY,
  time_ns INTEGER NOT NULL,
  payload TEXT NOT NULL);
CREATE TABLE history(
  job INTEGER PRIMARY KEY,
  ended_ns INTEGER NOT NULL,
  payload TEXT NOT NULL);
)sql",
    // 2: events of one job, finished jobs by user and end, without reading all of them.
    R"sql(
ALTER TABLE events ADD COLUMN job TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN user TEXT NOT NULL DEFAULT '';
UPDATE events SET job = COALESCE(json_extract(payload, '$.job'), ''),
                  user = COALESCE(json_extract(payload, '$.user'), '');
CREATE INDEX events_job ON events(job, seq);
CREATE INDEX events_time ON events(time_ns);
ALTER TABLE history ADD COLUMN user TEXT NOT NULL DEFAULT '';
UPDATE history SET user = COALESCE(json_extract(payload, '$.user'), '');
CREATE INDEX history_ended ON history(ended_ns);
CREATE INDEX idempotency_time ON idempotency(time_ns);
CREATE INDEX jobs_submission ON jobs(submission);
CREATE INDEX submissions_user ON submissions(user, id);
)sql",
    // 3: finished jobs by queue, array and state, without reading all of them.
    R"sql(
ALTER TABLE history ADD COLUMN queue TEXT NOT NULL DEFAULT '';
ALTER TABLE history ADD COLUMN array TEXT NOT NULL DEFAULT '';
ALTER TABLE history ADD COLUMN state TEXT NOT NULL DEFAULT '';
UPDATE history SET queue = COALESCE(json_extract(payload, '$.queue'), ''),
                   array = COALESCE(json_extract(payload, '$.array_id'), ''),
                   state = COALESCE(json_extract(payload, '$.state'), '');
)sql",
};

}  // namespace

std::span<const std::string_view> migrations() { return kSteps; }

Result<std::int64_t> schema_version(Database& database) {
  const Result<std::int64_t> version = database.query_integer("PRAGMA user_version");
  if (!version.ok()) return version;
  const auto newest = static_cast<std::int64_t>(kSteps.size());
  if (*version > newest) {
    return Error{.code = ErrorCode::kUnsupported,
                 .message = "the journal has schema version " + std::to_string(*version) +
                            ", made by a newer rota; this one knows up to " +
                            std::to_string(newest) + ": start the newer version, or give "
                            "another state folder with --state"};
  }
  return version;
}

Status migrate(Database& database) {
  const Result<std::int64_t> version = schema_version(database);
  if (!version.ok()) return version.error();
  const auto newest = static_cast<std::int64_t>(kSteps.size());
  for (std::int64_t step = *version; step < newest; ++step) {
    const std::string_view text = kSteps[static_cast<std::size_t>(step)];
    const std::string sql = "BEGIN IMMEDIATE;" + std::string(text) +
                            "PRAGMA user_version = " + std::to_string(step + 1) + ";COMMIT;";
    Status status = database.execute(sql);
    if (!status.ok()) {
      if (database.in_transaction()) (void)database.execute("ROLLBACK");
      return Error{.code = status.error().code,
                   .message = "schema step " + std::to_string(step + 1) + " failed: " +
                              status.error().message};
    }
  }
  return {};
}

}  // namespace rota::store
