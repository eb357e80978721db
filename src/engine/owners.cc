#include "engine/owners.h"

#include <algorithm>
#include <queue>

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

std::int64_t whole_up(std::int64_t milli) { return (milli + 999) / 1000; }

}  // namespace

QueueIndex Owners::find(std::string_view name) const {
  for (QueueIndex i = 1; i < static_cast<QueueIndex>(state_.queues.size()); ++i) {
    if (state_.queues[i].spec.name == name) return i;
  }
  return kNone;
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

void Owners::divide(Instant now, const Demand& waiting, std::int64_t gpus_healthy) {
  const auto count = static_cast<QueueIndex>(state_.queues.size());
  demand_.assign(count, 0);
  share_.assign(count, 0);
  quota_share_.assign(count, 0);
  use_.assign(count, 0);
  owed_rate_.assign(count, 0);
  // Children are declared after their parents, so one pass from the back sums the tree.
  for (QueueIndex q = count - 1; q >= 0; --q) {
    const QueueRec& rec = state_.queues[q];
    use_[q] = rec.usage.used(now, state_.policy);
    if (rec.children.empty()) demand_[q] = whole_up(rec.held + waiting[q]);
    if (rec.spec.limit && q > 0) {
      demand_[q] = std::min(demand_[q], rec.spec.limit->value() / 1000);
    }
    if (q > 0) demand_[rec.parent] += demand_[q];
  }
  share_[0] = std::min(gpus_healthy, demand_[0]);
  quota_share_[0] = gpus_healthy;
  owed_rate_[0] = std::min(demand_[0], gpus_healthy) * 1000;
  std::vector<std::int64_t> part(count, 0);  // milli-GPU by weight alone
  part[0] = gpus_healthy * 1000;
  for (QueueIndex q = 0; q < count; ++q) {
    const auto& children = state_.queues[q].children;
    if (children.empty()) continue;
    divide_children(q);
    std::int64_t weights = 0;
    for (const QueueIndex c : children) weights += state_.queues[c].spec.weight;
    for (const QueueIndex c : children) {
      part[c] = weights == 0 ? 0
                             : static_cast<std::int64_t>(static_cast<Int128>(part[q]) *
                                                         state_.queues[c].spec.weight / weights);
      owed_rate_[c] = std::min(demand_[c] * 1000, part[c]);
    }
  }
}

void Owners::note_owed(Instant now) {
  for (std::size_t q = 0; q < owed_rate_.size(); ++q) {
    QueueRec& queue = state_.queues[q];
    if (queue.owed_rate == owed_rate_[q]) continue;
    settle_queue(queue, now);
    queue.owed_rate = owed_rate_[q];
  }
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
                             std::vector<std::int64_t>& share) const {
  std::int64_t wanted = 0;
  for (const QueueIndex c : children) {
    const auto& quota = state_.queues[c].spec.quota;
    share[c] = quota ? std::min(quota->value() / 1000, demand_[c]) : 0;
    wanted += share[c];
  }
  // More guaranteed than there is: take back one at a time from the best served.
  while (wanted > capacity) {
    QueueIndex most = kNone;
    for (const QueueIndex c : children) {
      if (share[c] == 0) continue;
      if (most == kNone || compare_served(share[c], state_.queues[c].spec.weight, share[most],
                                          state_.queues[most].spec.weight) >= 0) {
        most = c;
      }
    }
    --share[most];
    --wanted;
  }
}

void Owners::divide_rest(const std::vector<QueueIndex>& children, std::int64_t capacity) {
  if (state_.policy.fairness != FairnessKind::kInstant) {
    std::vector<QueueIndex> order = children;
    std::stable_sort(order.begin(), order.end(), [&](QueueIndex a, QueueIndex b) {
      return compare_served(use_[a], state_.queues[a].spec.weight, use_[b],
                            state_.queues[b].spec.weight) < 0;
    });
    for (const QueueIndex c : order) {
      const std::int64_t more = std::min(capacity, demand_[c] - share_[c]);
      share_[c] += more;
      capacity -= more;
    }
    return;
  }
  std::int64_t wanted = 0;
  std::int64_t wanting = 0;
  for (const QueueIndex c : children) {
    wanted += demand_[c] - share_[c];
    wanting += demand_[c] > share_[c] ? 1 : 0;
  }
  if (wanted <= capacity || wanting == 1) {
    for (const QueueIndex c : children) share_[c] += std::min(capacity, demand_[c] - share_[c]);
    return;
  }
  const auto later = [&](QueueIndex a, QueueIndex b) {
    const auto order = compare_served(share_[a], state_.queues[a].spec.weight, share_[b],
                                      state_.queues[b].spec.weight);
    return order != 0 ? order > 0 : a > b;
  };
  std::priority_queue<QueueIndex, std::vector<QueueIndex>, decltype(later)> next(later);
  for (const QueueIndex c : children) {
    if (share_[c] < demand_[c]) next.push(c);
  }
  while (capacity > 0 && !next.empty()) {
    const QueueIndex c = next.top();
    next.pop();
    ++share_[c];
    --capacity;
    if (share_[c] < demand_[c]) next.push(c);
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
  if (a == b) return std::strong_ordering::equal;
  const auto pa = path(a);
  const auto pb = path(b);
  auto i = pa.rbegin();
  auto j = pb.rbegin();
  while (i != pa.rend() && j != pb.rend() && *i == *j) {
    ++i;
    ++j;
  }
  if (i == pa.rend() || j == pb.rend()) return std::strong_ordering::equal;
  const QueueRec& x = state_.queues[*i];
  const QueueRec& y = state_.queues[*j];
  return compare_served(x.held - share_[*i] * 1000, x.spec.weight, y.held - share_[*j] * 1000,
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
