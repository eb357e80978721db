// The policy: a small plain value. Defaults here are those of a scenario file; the product's own
// defaults are set by the server's configuration.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/fields.h"

namespace rota {

enum class Order { kFair, kPriority, kFifo, kShortest };  // kShortest: clairvoyant, replay only
constexpr auto names_of(Order) {
  return std::array<std::string_view, 4>{"fair", "priority", "fifo", "shortest"};
}
enum class FairnessKind { kInstant, kWindow, kHalfLife };
constexpr auto names_of(FairnessKind) {
  return std::array<std::string_view, 3>{"instant", "window", "half_life"};
}
enum class Backfill { kEasy, kConservative, kGreedy, kOff };
constexpr auto names_of(Backfill) {
  return std::array<std::string_view, 4>{"easy", "conservative", "greedy", "off"};
}
enum class Placement { kPack, kSpread, kLeastFragmentation };
constexpr auto names_of(Placement) {
  return std::array<std::string_view, 3>{"pack", "spread", "least_fragmentation"};
}
enum class Consolidation { kOff, kDrainOne };
constexpr auto names_of(Consolidation) {
  return std::array<std::string_view, 2>{"off", "drain_one"};
}
enum class Reclaim { kShare, kQuota, kOff };
constexpr auto names_of(Reclaim) {
  return std::array<std::string_view, 3>{"share", "quota", "off"};
}
enum class RetryOn { kElsewhere, kAny };
constexpr auto names_of(RetryOn) {
  return std::array<std::string_view, 2>{"elsewhere", "any"};
}
enum class Infeasible { kHold, kRefuse };
constexpr auto names_of(Infeasible) { return std::array<std::string_view, 2>{"hold", "refuse"}; }
enum class DependencyNever { kCancel, kHold };
constexpr auto names_of(DependencyNever) {
  return std::array<std::string_view, 2>{"cancel", "hold"};
}
enum class Spill { kOff, kCheapest };
constexpr auto names_of(Spill) { return std::array<std::string_view, 2>{"off", "cheapest"}; }

struct Policy {
  Order order = Order::kFair;
  FairnessKind fairness = FairnessKind::kInstant;
  Duration fairness_span;  // the window or the half-life; unused for kInstant
  Backfill backfill = Backfill::kEasy;
  Placement placement = Placement::kPack;
  Reclaim reclaim = Reclaim::kShare;
  Consolidation consolidation = Consolidation::kOff;
  Duration min_runtime_max = Duration::hours(8);
  Duration grace;
  std::int64_t retries = 0;
  RetryOn retry_on = RetryOn::kElsewhere;
  std::optional<std::int64_t> quarantine_after = 3;
  std::int64_t cpus_reserved_per_gpu = 0;
  Infeasible infeasible = Infeasible::kHold;
  DependencyNever dependency_never = DependencyNever::kCancel;
  std::optional<Duration> session_idle_warn;
  std::optional<Duration> session_idle_end;
  Spill spill = Spill::kOff;
  /// A started job may be protected for ever (`min_runtime=all`). Off refuses such jobs unless they
  /// fit their queue's quota.
  bool protect_all_anywhere = true;

  friend bool operator==(const Policy&, const Policy&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("order", self.order);
    visit("fairness", self.fairness);
    visit("fairness_span", self.fairness_span);
    visit("backfill", self.backfill);
    visit("placement", self.placement);
    visit("reclaim", self.reclaim);
    visit("consolidation", self.consolidation);
    visit("min_runtime_max", self.min_runtime_max);
    visit("grace", self.grace);
    visit("retries", self.retries);
    visit("retry_on", self.retry_on);
    visit("quarantine_after", self.quarantine_after);
    visit("cpus_reserved_per_gpu", self.cpus_reserved_per_gpu);
    visit("infeasible", self.infeasible);
    visit("dependency_never", self.dependency_never);
    visit("session_idle_warn", self.session_idle_warn);
    visit("session_idle_end", self.session_idle_end);
    visit("spill", self.spill);
    visit("protect_all_anywhere", self.protect_all_anywhere);
  }
};

}  // namespace rota
