// How much GPU time an owner has used, as fairness counts it: exact at any instant, by closed form,
// without sampling. Amounts are milli-GPU-nanoseconds.
//
// Sliding window: use in (now - span, now]. Half-life: every use counts half after each span
// (2^-x by 40-bit fixed point; whole half-lives are exact shifts).
// Cost: set_rate O(1); used() O(log changes in the window + past uses) for a window, O(changes kept
// + past uses) for a half-life, which fold() keeps few.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "model/fields.h"
#include "model/policy.h"

namespace rota::engine {

/// value * 2^(-elapsed/half_life), rounded down.
Int128 decayed(Int128 value, Duration elapsed, Duration half_life);

class UsageLedger {
 public:
  /// From `now` on the owner uses `milli` milli-GPUs.
  void set_rate(Instant now, std::int64_t milli);
  [[nodiscard]] std::int64_t rate() const { return rate_; }
  /// Use from the past, spread evenly over [from, to]; one point when from == to.
  void add_past(Instant from, Instant to, Int128 amount);
  /// What counts at `now` under this policy.
  [[nodiscard]] Int128 used(Instant now, const Policy& policy) const;
  /// Forgets what no window that reaches back to `before` can see.
  void trim(Instant before);
  /// Once it is many changes: under a half-life, replaces all that was by what counts of it now;
  /// under instant fairness, which asks for none of it, the older half by its sum, spread evenly.
  void fold(Instant now, const Policy& policy);

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("points", self.points_);
    visit("rate", self.rate_);
    visit("past", self.past_);
  }

 private:
  // At `at` the running total is `total`, and from there on it grows by `rate` a nanosecond.
  struct Point {
    Instant at;
    Int128 total = 0;
    std::int64_t rate = 0;
    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
      visit("at", self.at);
      visit("total", self.total);
      visit("rate", self.rate);
    }
  };
  // Use from before, spread evenly over (from, to]; at one instant when they are equal.
  struct Past {
    Instant from;
    Instant to;
    Int128 amount = 0;
    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
      visit("from", self.from);
      visit("to", self.to);
      visit("amount", self.amount);
    }
  };
  [[nodiscard]] Int128 total_at(Instant at) const;
  void sum_up_older();
  [[nodiscard]] static Int128 past_in_window(const Past& past, Instant after, Instant now);
  [[nodiscard]] Int128 rates_decayed(Instant now, Duration half_life) const;
  [[nodiscard]] static Int128 past_decayed(const Past& past, Instant now, Duration half_life);

  std::deque<Point> points_;
  std::vector<Past> past_;
  std::int64_t rate_ = 0;
};

}  // namespace rota::engine
