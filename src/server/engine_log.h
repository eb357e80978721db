// The engine together with its journal: nothing reaches the engine that is not written down, and
// the journal alone rebuilds it.
//
// A row is an event (accepted, or refused), a cycle with the decisions it gave, or a note that
// finished jobs were forgotten. recover() loads the newest sound snapshot, replays the rows
// after it at their instants and compares every decision with the one written down.
// All writes belong to the store's open transaction; when its commit fails, the engine is ahead of
// the journal and must be recovered anew. Threads: one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "store/store.h"

namespace rota::server {

constexpr std::string_view kCycleRow = "cycle";
constexpr std::string_view kForgetRow = "forget";
constexpr std::string_view kRefusedRow = "refused";

class EngineLog {
 public:
  /// Reads only. Error: kCorruption (a row or snapshot is damaged), kUnsupported (replay decides
  /// differently: the rows were written by another version of the engine).
  static Result<EngineLog> recover(store::Store& store);

  /// Error: the engine refuses the event; only that is written.
  Status apply(Instant now, const Event& event);
  /// One cycle; its row is written even when it decides nothing, since it moves the engine's time.
  engine::CycleResult cycle(Instant now);
  void forget_finished(Instant now, Instant before);
  void snapshot();

  [[nodiscard]] const engine::Engine& engine() const { return engine_; }
  [[nodiscard]] std::int64_t rows_since_snapshot() const { return rows_since_snapshot_; }
  /// Never before what the engine has seen: clocks may step back.
  [[nodiscard]] Instant clamp(Instant now) const;

 private:
  explicit EngineLog(store::Store& store) : store_(&store) {}
  Status load_snapshot();
  Status replay();
  Status replay_row(const store::JournalRow& row);

  store::Store* store_;
  engine::Engine engine_;
  std::int64_t last_seq_ = 0;  // the row the engine has seen last
  std::int64_t rows_since_snapshot_ = 0;
};

}  // namespace rota::server
