#include "engine/turns.h"

#include <algorithm>

namespace rota::engine {

bool Turns::LaneTurn::later(std::uint32_t a, std::uint32_t b) const {
  return classes[a].next.key > classes[b].next.key;
}

bool Turns::LaneTurn::later_shape(std::uint32_t a, std::uint32_t b) const {
  return later(shapes[a].heads.front(), shapes[b].heads.front());
}

void Turns::LaneTurn::add(const JobClass& job_class, std::vector<std::uint32_t>& slot_of_shape) {
  const ShapeIndex index = job_class.key.shape;
  const auto at = static_cast<std::size_t>(index);
  if (at >= slot_of_shape.size()) slot_of_shape.resize(at + 1, 0);
  std::uint32_t& slot = slot_of_shape[at];
  if (slot >= shapes_used || shapes[slot].shape != index) {
    slot = static_cast<std::uint32_t>(shapes_used);
    if (shapes_used == shapes.size()) shapes.emplace_back();
    ShapeTurn& fresh = shapes[shapes_used++];
    fresh.shape = index;
    fresh.now_dead = fresh.sorted = false;
    fresh.heads.clear();
  }
  const auto of = static_cast<std::uint32_t>(classes.size());
  classes.push_back({.job_class = &job_class, .next = job_class.jobs.front(), .shape = slot});
  auto& heads = shapes[slot].heads;
  heads.push_back(of);
  if (later(heads.front(), of)) std::swap(heads.front(), heads.back());
}

void Turns::LaneTurn::sort_shapes() {
  order.clear();
  for (std::uint32_t slot = 0; slot < shapes_used; ++slot) order.push_back(slot);
  std::make_heap(order.begin(), order.end(),
                 [this](std::uint32_t a, std::uint32_t b) { return later_shape(a, b); });
}

std::uint32_t Turns::LaneTurn::pop_shape() {
  std::pop_heap(order.begin(), order.end(),
                [this](std::uint32_t a, std::uint32_t b) { return later_shape(a, b); });
  const std::uint32_t slot = order.back();
  order.pop_back();
  return slot;
}

std::uint32_t Turns::LaneTurn::pop_class(std::uint32_t slot) {
  ShapeTurn& shape = shapes[slot];
  auto& heads = shape.heads;
  const std::uint32_t of = heads.front();
  const auto by_order = [this](std::uint32_t a, std::uint32_t b) { return later(a, b); };
  if (shape.sorted) {
    std::pop_heap(heads.begin(), heads.end(), by_order);
    heads.pop_back();
  } else {
    heads.front() = heads.back();
    heads.pop_back();
    std::make_heap(heads.begin(), heads.end(), by_order);
    shape.sorted = true;
  }
  if (heads.empty()) return of;
  order.push_back(slot);
  std::push_heap(order.begin(), order.end(),
                 [this](std::uint32_t a, std::uint32_t b) { return later_shape(a, b); });
  return of;
}

/// Of a class that pop_class() took out.
void Turns::LaneTurn::push_class(std::uint32_t of) {
  const std::uint32_t slot = classes[of].shape;
  auto& heads = shapes[slot].heads;
  const bool in_order = !heads.empty();
  heads.push_back(of);
  std::push_heap(heads.begin(), heads.end(),
                 [this](std::uint32_t a, std::uint32_t b) { return later(a, b); });
  const auto by_shape = [this](std::uint32_t a, std::uint32_t b) { return later_shape(a, b); };
  if (!in_order) {
    order.push_back(slot);
    std::push_heap(order.begin(), order.end(), by_shape);
  } else if (heads.front() == of) {
    // The shape comes sooner now than where it stands.
    std::make_heap(order.begin(), order.end(), by_shape);
  }
}

Turns::LaneTurn& Turns::add_lane(QueueIndex queue) {
  if (lanes_used_ == lanes_.size()) lanes_.emplace_back();
  LaneTurn& lane = lanes_[lanes_used_];
  lane.queue = queue;
  lane.classes.clear();
  lane.shapes_used = 0;
  return lane;
}

void Turns::open(bool charged) {
  lanes_used_ = 0;
  const JobRec* holder = state_.jobs.find(state_.reservation_holder);
  holder_queue_ = holder == nullptr ? kNone : holder->queue;
  live_.assign(state_.queues.size(), 0);
  lane_of_queue_.resize(live_.size());
  for (const auto& [queue, waiting] : waiting_.lanes()) {
    LaneTurn& lane = add_lane(queue);
    for (const auto& [key, job_class] : waiting.classes) {
      if (key.charge == charged && !job_class.jobs.empty()) lane.add(job_class, slot_of_shape_);
    }
    if (lane.classes.empty()) continue;
    lane.sort_shapes();
    for (QueueIndex q = queue; q != kNone; q = state_.queues[q].parent) ++live_[q];
    lane_of_queue_[static_cast<std::size_t>(queue)] = lanes_used_++;
  }
  if (state_.policy.order != Order::kFair) return;
  in_turn_.resize(live_.size());
  for (QueueIndex q = 0; q < std::ssize(live_); ++q) {
    in_turn_[q].clear();
    if (live_[q] == 0) continue;
    for (const QueueIndex child : state_.queues[q].children) {
      if (live_[child] > 0) in_turn_[q].push_back(child);
    }
    order_children(q);
  }
}

auto Turns::comes_later() const {
  return [this](QueueIndex a, QueueIndex b) { return owners_.before(b, a, holder_queue_); };
}

void Turns::order_children(QueueIndex parent) {
  auto& children = in_turn_[parent];
  std::make_heap(children.begin(), children.end(), comes_later());
}

void Turns::reorder(QueueIndex queue) {
  if (state_.policy.order != Order::kFair) return;
  for (QueueIndex q = queue; q > 0; q = state_.queues[q].parent) {
    order_children(state_.queues[q].parent);
  }
}

void Turns::reorder_all() {
  if (state_.policy.order != Order::kFair) return;
  for (QueueIndex q = 0; q < std::ssize(live_); ++q) {
    if (live_[q] > 0) order_children(q);
  }
}

/// Puts the class's next job after that place in line.
void Turns::feed(LaneTurn& lane, std::uint32_t of, const std::optional<OrderKey>& after) {
  ClassTurn& turn = lane.classes[of];
  const auto* entry = turn.job_class->jobs.next(after, turn.limit_max);
  if (entry == nullptr) return;
  turn.next = *entry;
  lane.push_class(of);
}

/// Of the lane whose turn it is, so each queue on its path is the first of its siblings.
void Turns::close(const LaneTurn& lane) {
  for (QueueIndex q = lane.queue; q != kNone; q = state_.queues[q].parent) {
    const bool fair = state_.policy.order == Order::kFair;
    if (--live_[q] > 0 || !fair || q == 0) continue;
    auto& siblings = in_turn_[state_.queues[q].parent];
    std::pop_heap(siblings.begin(), siblings.end(), comes_later());
    siblings.pop_back();
  }
}

/// The lane whose turn it is, from the root down; lanes_used_ when none is left.
std::size_t Turns::next_lane() const {
  if (lanes_used_ == 0 || live_[0] == 0) return lanes_used_;
  if (state_.policy.order != Order::kFair) return 0;
  QueueIndex q = 0;
  while (!in_turn_[q].empty()) q = in_turn_[q].front();
  return lane_of_queue_[static_cast<std::size_t>(q)];
}

}  // namespace rota::engine
