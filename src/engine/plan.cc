#include "engine/plan.h"

#include <algorithm>

namespace rota::engine {

namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

std::int64_t end_of(Instant from, const std::optional<Duration>& length) {
  if (!length || length->ns() > kForever - from.ns()) return kForever;
  return from.ns() + length->ns();
}

void keep_least(DeviceCap& low, const DeviceCap& now) {
  // A device used in two ways within the window is free for neither.
  if (low.mode != now.mode && low.mode != DeviceMode::kUnused && now.mode != DeviceMode::kUnused) {
    low.mode = DeviceMode::kWhole;
    low.milli_free = 0;
  } else if (now.mode != DeviceMode::kUnused) {
    low.mode = now.mode;
  }
  low.holders = std::max(low.holders, now.holders);
  low.milli_free = std::min(low.milli_free, now.milli_free);
  low.memory_free = std::min(low.memory_free, now.memory_free);
  low.slots_free = std::min(low.slots_free, now.slots_free);
  low.mig_used |= now.mig_used;
}

}  // namespace

// ---- Timeline ----

Timeline::Timeline(Ledger empty, std::vector<Busy> busy)
    : empty_(std::move(empty)), busy_(std::move(busy)) {}

void Timeline::add(Busy busy) { busy_.push_back(std::move(busy)); }

Ledger Timeline::window(Instant from, const std::optional<Duration>& length) const {
  const std::int64_t end = end_of(from, length);
  const auto to_of = [](const Busy& b) { return b.to ? b.to->ns() : kForever; };
  Ledger current = empty_;
  struct Change {
    std::int64_t at;
    bool starts;
    const Busy* busy;
  };
  std::vector<Change> changes;
  for (const Busy& b : busy_) {
    if (to_of(b) <= from.ns() || b.from.ns() >= end) continue;
    if (b.from <= from) {
      current.take(b.tasks);
    } else {
      changes.push_back({b.from.ns(), true, &b});
    }
    if (to_of(b) < end) changes.push_back({to_of(b), false, &b});
  }
  if (changes.empty()) return current;
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.at != b.at ? a.at < b.at : a.starts < b.starts;  // ends first
  });
  Ledger low = current;
  for (const Change& change : changes) {
    if (!change.starts) {
      current.give(change.busy->tasks);
      continue;
    }
    current.take(change.busy->tasks);
    for (const TaskAlloc& task : change.busy->tasks) low.lower_to(task, current, keep_least);
  }
  return low;
}

std::optional<Slot> Timeline::earliest(const Placer& placer, const PlanQuery& query) const {
  std::vector<Instant> times{query.from};
  for (const Busy& b : busy_) {
    if (b.to && *b.to > query.from) times.push_back(*b.to);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  for (const Instant at : times) {
    Ledger free = window(at, query.length);
    auto tasks = placer.place(free, query.request, query.tasks);
    if (tasks) return Slot{at, std::move(*tasks)};
  }
  return std::nullopt;
}

// ---- CountTimeline ----

CountTimeline::CountTimeline(const std::vector<std::int64_t>& free_by_node) {
  for (const std::int64_t free : free_by_node) {
    nodes_.push_back({{std::numeric_limits<std::int64_t>::min(), free}});
  }
}

void CountTimeline::take(NodeIndex node, Instant from, const std::optional<Instant>& to,
                         std::int64_t count) {
  Steps& steps = nodes_[node];
  const auto cut = [&steps](std::int64_t at) {
    auto after = std::upper_bound(steps.begin(), steps.end(), at,
                                  [](std::int64_t t, const Step& s) { return t < s.at; });
    const auto index = after - steps.begin() - 1;
    if (steps[index].at == at) return index;
    steps.insert(after, {at, steps[index].free});
    return index + 1;
  };
  const auto first = cut(from.ns());
  const auto last = to ? cut(to->ns()) : std::ssize(steps);
  for (auto i = first; i < last; ++i) steps[i].free -= count;
  if (to) releases_.insert(to->ns());
}

void CountTimeline::trim(Instant now) {
  releases_.erase(releases_.begin(), releases_.upper_bound(now.ns()));
  for (Steps& steps : nodes_) {
    const auto after = std::upper_bound(steps.begin(), steps.end(), now.ns(),
                                        [](std::int64_t t, const Step& s) { return t < s.at; });
    // One erase for many passed steps.
    const auto passed = after - steps.begin() - 1;
    if (passed > 64 || (passed > 0 && std::ssize(steps) < 128)) {
      steps.erase(steps.begin(), steps.begin() + passed);
    }
  }
}

std::int64_t CountTimeline::tasks_at(Instant at, const Request& request) const {
  std::int64_t tasks = 0;
  for (const NodeIndex n : request.nodes) {
    const std::int64_t free = least_free(nodes_[n], at.ns(), at.ns() + 1);
    if (free > 0) tasks += free / request.whole;
  }
  return tasks;
}

std::int64_t CountTimeline::least_free(const Steps& steps, std::int64_t from,
                                       std::int64_t to) const {
  auto step = std::upper_bound(steps.begin(), steps.end(), from,
                               [](std::int64_t t, const Step& s) { return t < s.at; });
  --step;
  std::int64_t least = step->free;
  for (++step; step != steps.end() && step->at < to; ++step) least = std::min(least, step->free);
  return least;
}

std::vector<std::int64_t>& CountTimeline::full_until(std::int64_t need) const {
  const auto index = static_cast<std::size_t>(need);
  if (full_until_.size() <= index) full_until_.resize(index + 1);
  auto& known = full_until_[index];
  if (known.empty()) known.assign(nodes_.size(), std::numeric_limits<std::int64_t>::min());
  return known;
}

std::int64_t CountTimeline::earliest_on(const Steps& steps, const Need& ask,
                                        std::int64_t& full) const {
  std::int64_t start = std::max(ask.from, full);
  auto step = std::upper_bound(steps.begin(), steps.end(), start,
                               [](std::int64_t t, const Step& s) { return t < s.at; });
  --step;
  bool never_yet = true;
  while (start <= ask.bound) {
    const auto next = step + 1;
    const bool last = next == steps.end();
    if (step->free >= ask.need) {
      never_yet = false;
      if (last || (ask.length != kForever && next->at - start >= ask.length)) return start;
    } else {
      start = last ? kForever : next->at;
      if (never_yet) full = start;
    }
    if (last) break;
    step = next;
  }
  return kForever;
}

std::optional<CountTimeline::Found> CountTimeline::gang_at(const PlanQuery& query,
                                                           std::int64_t at) const {
  const std::int64_t end = end_of(Instant(at), query.length);
  struct Room {
    std::int64_t free;
    NodeIndex node;
  };
  std::vector<Room> rooms;
  std::int64_t tasks = 0;
  for (const NodeIndex n : query.request.nodes) {
    const std::int64_t free = least_free(nodes_[n], at, end);
    if (free < query.request.whole) continue;
    rooms.push_back({free, n});
    tasks += free / query.request.whole;
  }
  if (tasks < query.tasks) return std::nullopt;
  std::stable_sort(rooms.begin(), rooms.end(),
                   [](const Room& a, const Room& b) { return a.free < b.free; });
  Found found{Instant(at), {}};
  std::int64_t left = query.tasks;
  for (const Room& room : rooms) {
    const std::int64_t here = std::min(left, room.free / query.request.whole);
    found.tasks.push_back({room.node, here});
    left -= here;
    if (left == 0) break;
  }
  return found;
}

std::optional<CountTimeline::Found> CountTimeline::earliest(const PlanQuery& query) const {
  const std::int64_t from = query.from.ns();
  if (query.tasks > 1) {
    if (auto found = gang_at(query, from)) return found;
    for (auto t = releases_.upper_bound(from); t != releases_.end();
         t = releases_.upper_bound(*t)) {
      if (auto found = gang_at(query, *t)) return found;
    }
    return std::nullopt;
  }
  const std::int64_t length = query.length ? query.length->ns() : kForever;
  if (from < asked_from_) full_until_.clear();
  asked_from_ = from;
  std::vector<std::int64_t>& full = full_until(query.request.whole);
  Need ask{from, length, query.request.whole, kForever};
  NodeIndex best = kNone;
  std::int64_t best_free = 0;
  for (const NodeIndex n : query.request.nodes) {
    if (full[n] > ask.bound) continue;
    const std::int64_t at = earliest_on(nodes_[n], ask, full[n]);
    if (at == kForever) continue;
    const std::int64_t free = least_free(nodes_[n], at, at + 1);
    if (at == ask.bound && free >= best_free) continue;
    ask.bound = at;
    best = n;
    best_free = free;
  }
  if (best == kNone) return std::nullopt;
  return Found{Instant(ask.bound), {{best, 1}}};
}

}  // namespace rota::engine
