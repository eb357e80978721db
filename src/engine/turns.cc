#include "engine/turns.h"

#include <algorithm>

namespace rota::engine {

namespace {

struct ComesLater {
  const std::vector<ClassTurn>& classes;
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    return classes[a].next.key > classes[b].next.key;
  }
};

}  // namespace

void Turns::LaneTurn::push(std::uint32_t of) {
  heads.push_back(of);
  if (order == HeadOrder::kHeap) {
    std::push_heap(heads.begin(), heads.end(), ComesLater{classes});
  }
}

std::uint32_t Turns::LaneTurn::pop() {
  if (order == HeadOrder::kNone) {
    // The heap's order is that of coming later, so its greatest is the first.
    const auto first = std::max_element(heads.begin(), heads.end(), ComesLater{classes});
    std::iter_swap(first, heads.end() - 1);
    order = HeadOrder::kFirstGone;
  } else {
    if (order == HeadOrder::kFirstGone) sort();
    std::pop_heap(heads.begin(), heads.end(), ComesLater{classes});
  }
  const std::uint32_t of = heads.back();
  heads.pop_back();
  return of;
}

void Turns::LaneTurn::sort() {
  std::make_heap(heads.begin(), heads.end(), ComesLater{classes});
  order = HeadOrder::kHeap;
}

Turns::LaneTurn& Turns::add_lane(QueueIndex queue) {
  if (lanes_used_ == lanes_.size()) lanes_.emplace_back();
  LaneTurn& lane = lanes_[lanes_used_];
  lane.queue = queue;
  lane.classes.clear();
  lane.heads.clear();
  lane.order = HeadOrder::kNone;
  return lane;
}

void Turns::open(bool charged) {
  lanes_used_ = 0;
  live_.assign(state_.queues.size(), 0);
  lane_of_queue_.resize(live_.size());
  for (const auto& [queue, waiting] : waiting_.lanes()) {
    LaneTurn& lane = add_lane(queue);
    for (const auto& [key, job_class] : waiting.classes) {
      if (key.charge == charged && !job_class.jobs.empty()) {
        lane.classes.push_back({.job_class = &job_class, .next = job_class.jobs.front()});
        lane.heads.push_back(static_cast<std::uint32_t>(lane.heads.size()));
      }
    }
    if (lane.classes.empty()) continue;
    for (QueueIndex q = queue; q != kNone; q = state_.queues[q].parent) ++live_[q];
    lane_of_queue_[static_cast<std::size_t>(queue)] = lanes_used_++;
  }
}

/// Puts the class's next job after that place in line.
void Turns::feed(LaneTurn& lane, std::uint32_t of, const std::optional<OrderKey>& after) {
  ClassTurn& turn = lane.classes[of];
  const auto* entry = turn.job_class->jobs.next(after, turn.limit_max);
  if (entry == nullptr) return;
  turn.next = *entry;
  lane.push(of);
}

void Turns::close(const LaneTurn& lane) {
  for (QueueIndex q = lane.queue; q != kNone; q = state_.queues[q].parent) --live_[q];
}

/// The lane whose turn it is, from the root down; lanes_used_ when none is left.
std::size_t Turns::next_lane() const {
  if (lanes_used_ == 0 || live_[0] == 0) return lanes_used_;
  if (state_.policy.order != Order::kFair) return 0;
  const JobRec* holder = state_.jobs.find(state_.reservation_holder);
  const QueueIndex holder_queue = holder == nullptr ? kNone : holder->queue;
  QueueIndex q = 0;
  while (!state_.queues[q].children.empty()) {
    QueueIndex best = kNone;
    for (const QueueIndex child : state_.queues[q].children) {
      if (live_[child] == 0) continue;
      if (best == kNone || owners_.before(child, best, holder_queue)) best = child;
    }
    q = best;
  }
  return lane_of_queue_[static_cast<std::size_t>(q)];
}

}  // namespace rota::engine
