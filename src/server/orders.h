// The outbox to the back-end: decisions that are journaled and whose attempts are not over yet.
//
// A call that certainly failed is tried again or becomes a fact; a call whose outcome is unknown
// stays `unknown` until list() tells. Starting is idempotent by (job, attempt), so sending again is
// safe; what must never happen is a start after a stop of the same attempt.
// Threads: one owner. Calls the back-end only from send() and reconcile().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "engine/engine.h"
#include "store/store.h"

namespace rota::server {

class Orders {
 public:
  struct Lookup {
    /// Completes a start decision with what the back-end needs; nothing: the job is unknown.
    std::function<std::optional<backend::StartOrder>(const StartAttempt&)> start;
    /// The job's own grace, or else the decision's.
    std::function<Duration(JobId, Duration)> grace;
  };

  /// After a start of the daemon: nothing is known of these orders but that they were given.
  void restore(const std::vector<store::OrderRow>& rows);
  void add(const store::OrderRow& row);
  /// The attempt (and all before it) is over.
  void remove(JobId job, std::int64_t attempt);
  /// A fact says that the attempt runs.
  void started(JobId job, std::int64_t attempt);

  /// Sends what is due. Facts that follow from refusals are appended to `facts`.
  void send(Instant now, backend::ExecutionBackend& backend, const Lookup& lookup,
            backend::Facts& facts);
  /// Compares with what the back-end knows: facts it never told, starts to repeat, attempts nobody
  /// ordered (they are stopped) and ends that can be cleaned up. Error: the list is unavailable.
  Status reconcile(Instant now, backend::ExecutionBackend& backend, const engine::Engine& engine,
                   backend::Facts& facts);

  [[nodiscard]] bool wants_list(Instant now) const;   // an outcome is unknown
  [[nodiscard]] std::optional<Instant> next_retry() const;
  [[nodiscard]] std::size_t size() const { return orders_.size(); }

 private:
  enum class Phase {
    kToSend,
    kSent,     // the back-end has taken it
    kUnknown,  // it may have: list() will tell
  };
  struct Order {
    Decision decision;
    Phase phase = Phase::kToSend;
    Instant retry_at;
    std::int64_t tries = 0;
  };
  using Key = std::tuple<JobId, std::int64_t, store::OrderKind>;
  using Known = std::map<std::pair<JobId, std::int64_t>, backend::KnownAttempt>;

  void send_start(Instant now, const Key& key, Order& order, backend::ExecutionBackend& backend,
                  const Lookup& lookup, backend::Facts& facts);
  void send_stop(Instant now, const Key& key, Order& order, backend::ExecutionBackend& backend,
                 const Lookup& lookup);
  void compare(const Key& key, Order& order, const Known& known, const engine::Engine& engine,
               backend::Facts& facts);
  [[nodiscard]] bool has_stop(JobId job, std::int64_t attempt) const;
  static void retry_later(Instant now, Order& order);

  std::map<Key, Order> orders_;  // a start sorts before the stop of its attempt
};

}  // namespace rota::server
