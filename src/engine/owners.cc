#include "engine/owners.h"

#include <algorithm>

#include "base/check.h"

namespace rota::engine {

namespace {

/// Compares x/wx with y/wy; a weight of 0 is beyond every other.
std::strong_ordering compare_served(Int128 x, std::int64_t wx, Int128 y, std::int64_t wy) {
  if (wx == 0 || wy == 0) {
    if (wx != wy) return wx == 0 ? std::strong_ordering::greater : std::strong_ordering::less;
    return x < y ? std::strong_ordering::less
                 : (x > y ? std::strong_ordering::greater : std::strong_ordering::equal);
  }
  const Int128 left = x * wy;
  const Int128 right = y * wx;
  if (left < right) return std::strong_ordering::less;
  return left > right ? std::strong_ordering::greater : std::strong_ordering::equal;
}

/// Changed leaves beyond which all is counted anew.
constexpr std::size_t kTouchedMax = 64;

std::int64_t whole_up(std::int64_t milli) { return (milli + 999) / 1000; }

/// amount * weight / weights, in 64 bits where that is enough.
std::int64_t part_of(std::int64_t amount, std::int64_t weight, std::int64_t weights) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(amount, weight, &product)) return product / weights;
  return static_cast<std::int64_t>(static_cast<Int128>(amount) * weight / weights);
}

}  // namespace

QueueIndex Owners::find(std::string_view name) const {
  // Queues are only ever added, and keep their names.
  for (; named_ < state_.queues.size(); ++named_) {
    by_name_.try_emplace(state_.queues[named_].spec.name, static_cast<QueueIndex>(named_));
  }
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? kNone : found->second;
}

bool Owners::is_leaf(QueueIndex queue) const { return state_.queues[queue].children.empty(); }

std::vector<QueueIndex> Owners::path(QueueIndex queue) const {
  std::vector<QueueIndex> out;
  for (QueueIndex q = queue; q > 0; q = state_.queues[q].parent) out.push_back(q);
  return out;
}

void Owners::hold(QueueIndex queue, std::int64_t milli, bool charged) {
  for (QueueIndex q = queue; q != kNone; q = state_.queues[q].parent) {
    state_.queues[q].held_all += milli;
    if (charged) state_.queues[q].held += milli;
  }
  if (!charged || !known_) return;
  touched_.push_back(queue);
  if (touched_.size() > kTouchedMax) known_ = false;
}

void Owners::settle_queue(QueueRec& queue, Instant now) {
  const Int128 passed = (now - queue.since).ns();
  queue.since = now;
  if (passed <= 0) return;
  queue.gpu_time += passed * queue.milli;
  queue.charged += passed * queue.milli_charged;
  queue.owed += passed * queue.owed_rate;
  queue.delivered += passed * std::min(queue.milli_charged, queue.owed_rate);
}

void Owners::settle(Instant now) {
  for (QueueRec& queue : state_.queues) settle_queue(queue, now);
}

void Owners::use(QueueIndex queue, Instant now, std::int64_t milli, bool charged) {
  for (QueueIndex q = queue; q != kNone; q = state_.queues[q].parent) {
    QueueRec& rec = state_.queues[q];
    settle_queue(rec, now);
    rec.milli += milli;
    if (!charged) continue;
    rec.milli_charged += milli;
    rec.usage.set_rate(now, rec.milli_charged);
    if (state_.policy.fairness == FairnessKind::kWindow) {
      rec.usage.trim(later(now, Duration() - state_.policy.fairness_span));
    }
    rec.usage.fold(now, state_.policy);
  }
}

void Owners::make_room() {
  const std::size_t count = state_.queues.size();
  if (use_.size() == count) return;
  for (auto* column :
       {&wanted_, &demand_, &share_, &quota_share_, &owed_rate_, &part_, &weight_, &quota_}) {
    column->resize(count);
  }
  use_.resize(count);
}

void Owners::count_use(Instant now) {
  make_room();
  if (state_.policy.fairness == FairnessKind::kInstant) {
    std::fill(use_.begin(), use_.end(), 0);
    return;
  }
  for (std::size_t q = 0; q < use_.size(); ++q) {
    use_[q] = state_.queues[q].usage.used(now, state_.policy);
  }
}

void Owners::count_use(Instant now, const std::vector<QueueIndex>& queues) {
  make_room();
  use_round_.resize(use_.size(), 0);
  ++round_;
  for (const QueueIndex queue : queues) {
    for (QueueIndex q = queue; q != kNone && use_round_[q] != round_; q = state_.queues[q].parent) {
      use_round_[q] = round_;
      use_[q] = state_.queues[q].usage.used(now, state_.policy);
    }
  }
}

void Owners::count_owed(const Demand& waiting, std::int64_t gpus_healthy) {
  make_room();
  std::fill(wanted_.begin(), wanted_.end(), 0);
  // Children are declared after their parents, so one pass from the back sums the tree.
  for (auto q = static_cast<QueueIndex>(demand_.size()) - 1; q >= 0; --q) {
    const QueueRec& rec = state_.queues[q];
    weight_[q] = rec.spec.weight;
    quota_[q] = rec.spec.quota ? rec.spec.quota->value() / 1000 : 0;
    if (rec.children.empty()) wanted_[q] = whole_up(rec.held + waiting[q]);
    demand_[q] = wanted_[q];
    if (rec.spec.limit && q > 0) {
      demand_[q] = std::min(demand_[q], rec.spec.limit->value() / 1000);
    }
    if (q > 0) wanted_[rec.parent] += demand_[q];
  }
  part_[0] = gpus_healthy * 1000;
  owed_rate_[0] = std::min(demand_[0] * 1000, part_[0]);
  for (const QueueRec& parent : state_.queues) {
    std::int64_t weights = 0;
    for (const QueueIndex c : parent.children) weights += weight_[c];
    const auto at = static_cast<std::size_t>(&parent - state_.queues.data());
    for (const QueueIndex c : parent.children) {
      part_[c] = weights == 0 ? 0 : part_of(part_[at], weight_[c], weights);
      owed_rate_[c] = std::min(demand_[c] * 1000, part_[c]);
    }
  }
  all_owed_changed_ = true;
  touched_.clear();
  known_ = true;
}

void Owners::count_owed(const Demand& waiting, const std::vector<QueueIndex>& waiting_changed) {
  for (const QueueIndex leaf : waiting_changed) count_leaf(leaf, waiting[leaf]);
  for (const QueueIndex leaf : touched_) count_leaf(leaf, waiting[leaf]);
  touched_.clear();
}

void Owners::count_leaf(QueueIndex leaf, std::int64_t waiting) {
  wanted_[leaf] = whole_up(state_.queues[leaf].held + waiting);
  for (QueueIndex q = leaf;; q = state_.queues[q].parent) {
    const auto& limit = state_.queues[q].spec.limit;
    const std::int64_t demand =
        limit && q > 0 ? std::min(wanted_[q], limit->value() / 1000) : wanted_[q];
    const std::int64_t more = demand - demand_[q];
    if (more == 0) return;
    demand_[q] = demand;
    owed_rate_[q] = std::min(demand * 1000, part_[q]);
    owed_changed_.push_back(q);
    if (q == 0) return;
    wanted_[state_.queues[q].parent] += more;
  }
}

void Owners::divide(Instant now, const Demand& waiting, std::int64_t gpus_healthy) {
  count_owed(waiting, gpus_healthy);
  count_use(now);
  divide();
}

void Owners::divide() {
  quota_share_[0] = part_[0] / 1000;
  share_[0] = std::min(quota_share_[0], demand_[0]);
  for (std::size_t q = 0; q < quota_.size(); ++q) {
    if (!state_.queues[q].children.empty()) divide_children(static_cast<QueueIndex>(q));
  }
}

void Owners::note_owed(Instant now) {
  const auto note = [&](std::size_t q) {
    QueueRec& queue = state_.queues[q];
    if (queue.owed_rate == owed_rate_[q]) return;
    settle_queue(queue, now);
    queue.owed_rate = owed_rate_[q];
  };
  if (all_owed_changed_) {
    for (std::size_t q = 0; q < owed_rate_.size(); ++q) note(q);
  } else {
    for (const QueueIndex q : owed_changed_) note(static_cast<std::size_t>(q));
  }
  all_owed_changed_ = false;
  owed_changed_.clear();
}

void Owners::divide_children(QueueIndex parent) {
  const auto& children = state_.queues[parent].children;
  divide_by_quota(children, quota_share_[parent], quota_share_);
  divide_by_quota(children, share_[parent], share_);
  std::int64_t given = 0;
  for (const QueueIndex c : children) given += share_[c];
  divide_rest(children, share_[parent] - given);
}

void Owners::divide_by_quota(const std::vector<QueueIndex>& children, std::int64_t capacity,
                             std::vector<std::int64_t>& share) {
  std::int64_t wanted = 0;
  for (const QueueIndex c : children) {
    share[c] = std::min(quota_[c], demand_[c]);
    wanted += share[c];
  }
  if (wanted <= capacity) return;
  // More guaranteed than there is: the best served give up most.
  takers_.clear();
  for (const QueueIndex c : children) takers_.push_back({weight_[c], 0, share[c]});
  serve(takers_, capacity, ServedBy::kWith);
  for (std::size_t i = 0; i < children.size(); ++i) share[children[i]] = takers_[i].has;
}

/// What quotas leave over goes to those who want more.
void Owners::divide_rest(const std::vector<QueueIndex>& children, std::int64_t capacity) {
  std::int64_t wanted = 0;
  for (const QueueIndex c : children) wanted += demand_[c] - share_[c];
  if (wanted <= capacity) {
    for (const QueueIndex c : children) share_[c] = demand_[c];
    return;
  }
  if (children.size() == 1) {
    share_[children.front()] += std::max<std::int64_t>(0, capacity);
    return;
  }
  if (state_.policy.fairness != FairnessKind::kInstant) {
    divide_by_use(children, capacity);
    return;
  }
  takers_.clear();
  for (const QueueIndex c : children) takers_.push_back({weight_[c], share_[c], demand_[c]});
  serve(takers_, capacity, ServedBy::kBefore);
  for (std::size_t i = 0; i < children.size(); ++i) share_[children[i]] = takers_[i].has;
}

/// The least use/weight takes all it wants first; ties: declared first. Those before the one that
/// gets only a part are found by halves, so most of the order is never made.
void Owners::divide_by_use(const std::vector<QueueIndex>& children, std::int64_t capacity) {
  order_ = children;
  const auto sooner = [&](QueueIndex a, QueueIndex b) {
    const auto order = compare_served(use_[a], weight_[a], use_[b], weight_[b]);
    return order != 0 ? order < 0 : a < b;
  };
  auto first = order_.begin();
  for (auto last = order_.end(); first != last && capacity > 0;) {
    const auto middle = first + (last - first + 1) / 2;
    if (middle != last) std::nth_element(first, middle, last, sooner);
    std::int64_t wanted = 0;
    for (auto c = first; c != middle; ++c) wanted += demand_[*c] - share_[*c];
    if (wanted <= capacity) {
      for (; first != middle; ++first) share_[*first] = demand_[*first];
      capacity -= wanted;
    } else if (middle - first > 1) {
      last = middle;
    } else {
      share_[*first] += capacity;
      capacity = 0;
    }
  }
}

std::int64_t Owners::reclaim_share_milli(QueueIndex queue) const {
  switch (state_.policy.reclaim) {
    case Reclaim::kShare: return share_[queue] * 1000;
    case Reclaim::kQuota: return quota_share_[queue] * 1000;
    case Reclaim::kOff: break;
  }
  return 0;
}

bool Owners::before(QueueIndex a, QueueIndex b, QueueIndex holder) const {
  const QueueRec& x = state_.queues[a];
  const QueueRec& y = state_.queues[b];
  const bool x_below = x.spec.quota && x.held < x.spec.quota->value();
  const bool y_below = y.spec.quota && y.held < y.spec.quota->value();
  if (x_below != y_below) return x_below;
  if (state_.policy.fairness != FairnessKind::kInstant) {
    const auto used = compare_served(use_[a], x.spec.weight, use_[b], y.spec.weight);
    if (used != 0) return used < 0;
  }
  const auto served = compare_served(x.held, x.spec.weight, y.held, y.spec.weight);
  if (served != 0) return served < 0;
  if (holder != kNone) {
    const bool x_holds = contains(a, holder);
    const bool y_holds = contains(b, holder);
    if (x_holds != y_holds) return x_holds;
  }
  return a < b;
}

bool Owners::contains(QueueIndex ancestor, QueueIndex queue) const {
  for (QueueIndex q = queue; q != kNone; q = state_.queues[q].parent) {
    if (q == ancestor) return true;
  }
  return false;
}

std::strong_ordering Owners::excess(QueueIndex a, QueueIndex b) const {
  const auto depth = [this](QueueIndex queue) {
    int levels = 0;
    for (QueueIndex q = queue; q != kNone; q = state_.queues[q].parent) ++levels;
    return levels;
  };
  const bool siblings = a != b && state_.queues[a].parent == state_.queues[b].parent;
  int deep_a = siblings ? 0 : depth(a);
  int deep_b = siblings ? 0 : depth(b);
  for (; deep_a > deep_b; --deep_a) a = state_.queues[a].parent;
  for (; deep_b > deep_a; --deep_b) b = state_.queues[b].parent;
  if (a == b) return std::strong_ordering::equal;  // one contains the other
  while (state_.queues[a].parent != state_.queues[b].parent) {
    a = state_.queues[a].parent;
    b = state_.queues[b].parent;
  }
  const QueueRec& x = state_.queues[a];
  const QueueRec& y = state_.queues[b];
  return compare_served(x.held - share_[a] * 1000, x.spec.weight, y.held - share_[b] * 1000,
                        y.spec.weight);
}

QueueIndex Owners::limit_hit(QueueIndex queue, std::int64_t milli) const {
  for (QueueIndex q = queue; q > 0; q = state_.queues[q].parent) {
    const auto& limit = state_.queues[q].spec.limit;
    if (limit && state_.queues[q].held_all + milli > limit->value()) return q;
  }
  return kNone;
}

}  // namespace rota::engine
