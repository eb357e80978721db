// Whose turn it is in one pass: the lane that the tree of owners names, in it the first job of the
// classes that still have hope.
//
// Whether anything of a shape fits is asked once for all its classes, so a lane's classes stand
// together by shape, and a shape for which there is no hope is left out with all of them. Filled
// anew for each pass; what it needs of memory is kept from pass to pass.
// Cost: open O(classes + queues with jobs in line); a turn O(depth + log shapes + log classes), and
// the next job of its class; after a start O(siblings of the queues that hold more by it).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/owners.h"
#include "engine/waiting.h"

namespace rota::engine {

/// How far a class of like jobs has come in the pass.
struct ClassTurn {
  const JobClass* job_class = nullptr;
  OrderedJobs::Entry next;            // the job whose turn it is in this class
  std::uint32_t shape = 0;            // its place among the shapes of the lane
  std::int64_t limit_max = kNoLimit;  // longer ones would delay the reservation
  bool now_dead = false;              // does not fit what is free
  bool claim_dead = false;            // nothing to take
  std::int64_t delays = -1;           // decisions made when one was found to delay the reservation
};

/// The classes of one shape in a lane.
struct ShapeTurn {
  ShapeIndex shape = 0;
  bool now_dead = false;             // whole devices that do not fit what is free
  bool sorted = false;               // the heads are a heap
  std::vector<std::uint32_t> heads;  // classes with a next job, the first in order in front
};

class Turns {
 public:
  Turns(const State& state, const Owners& owners, const Waiting& waiting)
      : state_(state), owners_(owners), waiting_(waiting) {}

  /// Puts the charged (or the uncharged) jobs that wait in line.
  void open(bool charged);
  /// The class whose next job has the turn; null: none is left. A shape or class for which
  /// `without_hope` holds when its turn comes is left out from there on. The caller visits that
  /// job, then calls pass_on() if the class may go on.
  template <class ShapeTest, class ClassTest>
  [[nodiscard]] ClassTurn* next(ShapeTest&& shape_without_hope, ClassTest&& class_without_hope) {
    while (true) {
      const std::size_t index = next_lane();
      if (index == lanes_used_) return nullptr;
      LaneTurn& lane = lanes_[index];
      while (!lane.order.empty()) {
        const std::uint32_t slot = lane.pop_shape();
        ShapeTurn& shape = lane.shapes[slot];
        if (shape_without_hope(shape)) continue;
        chosen_ = lane.pop_class(slot);
        ClassTurn& turn = lane.classes[chosen_];
        if (class_without_hope(shape, turn)) continue;
        if (turn.next.limit <= turn.limit_max) {
          chosen_lane_ = index;
          return &turn;
        }
        feed(lane, chosen_, turn.next.key);
      }
      close(lane);
    }
  }
  /// The queue and its parents hold more or less than before.
  void reorder(QueueIndex queue);
  /// Any queue may.
  void reorder_all();
  /// The shape of the class that next() gave.
  [[nodiscard]] ShapeTurn& shape() {
    LaneTurn& lane = lanes_[chosen_lane_];
    return lane.shapes[lane.classes[chosen_].shape];
  }
  /// The class that next() gave goes on with the job after the one visited.
  void pass_on() {
    LaneTurn& lane = lanes_[chosen_lane_];
    feed(lane, chosen_, lane.classes[chosen_].next.key);
  }

 private:
  struct LaneTurn {
    QueueIndex queue = 0;
    std::vector<ClassTurn> classes;
    std::vector<ShapeTurn> shapes;     // the first `shapes_used` of them count
    std::size_t shapes_used = 0;
    std::vector<std::uint32_t> order;  // shapes with heads: a heap, the first in order on top

    void add(const JobClass& job_class, std::vector<std::uint32_t>& slot_of_shape);
    void sort_shapes();
    void push_class(std::uint32_t of);
    /// Takes the shape out; with pop_class() it comes back if it has more.
    std::uint32_t pop_shape();
    std::uint32_t pop_class(std::uint32_t slot);
    [[nodiscard]] bool later(std::uint32_t a, std::uint32_t b) const;
    [[nodiscard]] bool later_shape(std::uint32_t a, std::uint32_t b) const;
  };
  [[nodiscard]] std::size_t next_lane() const;
  void order_children(QueueIndex parent);
  [[nodiscard]] auto comes_later() const;
  [[nodiscard]] LaneTurn& add_lane(QueueIndex queue);
  void close(const LaneTurn& lane);
  static void feed(LaneTurn& lane, std::uint32_t of, const std::optional<OrderKey>& after);

  const State& state_;
  const Owners& owners_;
  const Waiting& waiting_;
  std::vector<LaneTurn> lanes_;           // the first `lanes_used_` of them count
  std::size_t lanes_used_ = 0;
  std::vector<std::size_t> lane_of_queue_;
  std::vector<std::uint32_t> slot_of_shape_;  // in the lane being filled; checked before use
  std::vector<std::int64_t> live_;        // lanes with jobs in line in each queue's subtree
  std::vector<std::vector<QueueIndex>> in_turn_;  // under order=fair: live children, a heap
  QueueIndex holder_queue_ = kNone;       // of the reservation, which wins ties
  std::size_t chosen_lane_ = 0;
  std::uint32_t chosen_ = 0;
};

}  // namespace rota::engine
