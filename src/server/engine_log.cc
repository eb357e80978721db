#include "server/engine_log.h"

#include <algorithm>
#include <utility>

#include "api/json.h"
#include "base/digest.h"

namespace rota::server {
namespace {

struct CycleRow {
  std::vector<Decision> decisions;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("decisions", self.decisions);
  }
};

struct ForgetRow {
  Instant before;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("before", self.before);
  }
};

Error differs(const store::JournalRow& row, const std::string& why) {
  return {.code = ErrorCode::kUnsupported,
          .message = "replaying the journal gives another result than was written down (row " +
                     std::to_string(row.seq) + ", " + row.kind + ": " + why +
                     "): another version of rota wrote it. Start that version once, stop it "
                     "cleanly with SIGTERM, then start this one"};
}

/// Whether the engine is the one that was written. Of an older format, which stands in the first
/// eight bytes, load() has checked the bytes, and today's would be others.
bool restores(const store::SnapshotRow& row, const engine::Engine& loaded) {
  constexpr std::size_t kFormatSize = 8;
  if (loaded.digest() == row.digest) return true;
  Digest digest;
  digest.add(row.state);
  return digest.value() == row.digest &&
         row.state.compare(0, kFormatSize, loaded.save(), 0, kFormatSize) != 0;
}

}  // namespace

Instant EngineLog::clamp(Instant now) const { return std::max(now, engine_.now()); }

Status EngineLog::apply(Instant now, const Event& event) {
  const Instant at = clamp(now);
  Status status = engine_.apply(at, event);
  // A refused event is written too: it may have moved the engine's time.
  const std::string_view kind = status.ok() ? kEventNames[event.index()] : kRefusedRow;
  last_seq_ = store_->append(at, kind, api::to_text(event));
  ++rows_since_snapshot_;
  return status;
}

engine::CycleResult EngineLog::cycle(Instant now) {
  const Instant at = clamp(now);
  engine::CycleResult result = engine_.run_cycle(at);
  last_seq_ = store_->append(at, kCycleRow, api::to_text(CycleRow{result.decisions}));
  ++rows_since_snapshot_;
  return result;
}

void EngineLog::forget_finished(Instant now, Instant before) {
  engine_.forget_finished(before);
  last_seq_ = store_->append(clamp(now), kForgetRow, api::to_text(ForgetRow{before}));
  ++rows_since_snapshot_;
}

void EngineLog::snapshot() {
  store_->put_snapshot({.seq = last_seq_,
                        .time = engine_.now(),
                        .digest = engine_.digest(),
                        .state = engine_.save()});
  rows_since_snapshot_ = 0;
}

Result<EngineLog> EngineLog::recover(store::Store& store) {
  EngineLog log(store);
  Status status = log.load_snapshot();
  if (status.ok()) status = log.replay();
  if (!status.ok()) return status.error();
  return log;
}

/// The newest snapshot that loads with its digest; with none, the journal must start at row 1.
Status EngineLog::load_snapshot() {
  const Result<std::vector<store::SnapshotRow>> rows = store_->snapshots();
  if (!rows.ok()) return rows.error();
  for (const store::SnapshotRow& row : *rows) {
    Result<engine::Engine> loaded = engine::Engine::load(row.state);
    if (!loaded.ok() || !restores(row, *loaded)) continue;
    engine_ = *std::move(loaded);
    last_seq_ = row.seq;
    return {};
  }
  const Result<std::int64_t> first = store_->first_journal_seq();
  if (!first.ok()) return first.error();
  if (*first <= 1 && (*first == 1 || rows->empty())) return {};
  return Error{.code = ErrorCode::kCorruption,
               .message = "no snapshot of the engine can be loaded, and the journal no longer "
                          "reaches back to its start; nothing was changed: restore the state "
                          "folder from a copy, or start the version of rota that wrote it"};
}

Status EngineLog::replay() {
  while (true) {
    const Result<std::vector<store::JournalRow>> rows = store_->journal_after(last_seq_);
    if (!rows.ok()) return rows.error();
    if (rows->empty()) return {};
    for (const store::JournalRow& row : *rows) {
      const Status status = replay_row(row);
      if (!status.ok()) return status;
      last_seq_ = row.seq;
      ++rows_since_snapshot_;
    }
  }
}

Status EngineLog::replay_row(const store::JournalRow& row) {
  if (row.kind == kCycleRow) {
    const engine::CycleResult result = engine_.run_cycle(row.time);
    if (api::to_text(CycleRow{result.decisions}) == row.payload) return {};
    return differs(row, "other decisions");
  }
  if (row.kind == kForgetRow) {
    const Result<ForgetRow> forget = api::from_text<ForgetRow>(row.payload);
    if (!forget.ok()) return differs(row, forget.error().message);
    engine_.forget_finished(forget->before);
    return {};
  }
  const Result<Event> event = api::from_text<Event>(row.payload);
  if (!event.ok()) return differs(row, event.error().message);
  const Status status = engine_.apply(row.time, *event);
  if (status.ok() == (row.kind != kRefusedRow)) return {};
  return differs(row, status.ok() ? "it is accepted now" : status.error().message);
}

}  // namespace rota::server
