// Whose turn it is in one pass: the lane that the tree of owners names, in it the first job of the
// classes that still have hope.
//
// Filled anew for each pass; what it needs of memory is kept from pass to pass.
// Cost: open O(classes); a turn O(depth * children + log classes), and the next job of its class.
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
  std::int64_t limit_max = kNoLimit;  // longer ones would delay the reservation
  bool now_dead = false;              // does not fit what is free
  bool claim_dead = false;            // nothing to take
};

class Turns {
 public:
  Turns(const State& state, const Owners& owners, const Waiting& waiting)
      : state_(state), owners_(owners), waiting_(waiting) {}

  /// Puts the charged (or the uncharged) jobs that wait in line.
  void open(bool charged);
  /// The class whose next job has the turn; null: none is left. A class for which `hopeless` holds
  /// when its turn comes is left out from there on; with `for_good` what is hopeless stays so. The
  /// caller visits that job, then calls pass_on() for the class.
  template <class Hopeless>
  [[nodiscard]] ClassTurn* next(Hopeless&& hopeless, bool for_good) {
    while (true) {
      const std::size_t index = next_lane();
      if (index == lanes_used_) return nullptr;
      LaneTurn& lane = lanes_[index];
      if (lane.order == HeadOrder::kFirstGone && for_good) {
        std::erase_if(lane.heads, [&](auto of) { return hopeless(lane.classes[of]); });
      }
      while (!lane.heads.empty()) {
        chosen_ = lane.pop();
        ClassTurn& turn = lane.classes[chosen_];
        if (hopeless(turn)) continue;
        if (turn.next.limit <= turn.limit_max) {
          chosen_lane_ = index;
          return &turn;
        }
        feed(lane, chosen_, turn.next.key);
      }
      close(lane);
    }
  }
  /// The class that next() gave goes on with the job after the one visited.
  void pass_on() {
    LaneTurn& lane = lanes_[chosen_lane_];
    feed(lane, chosen_, lane.classes[chosen_].next.key);
  }

 private:
  /// Often all but the first are without hope once that is blocked, so they are sorted after it.
  enum class HeadOrder : std::uint8_t { kNone, kFirstGone, kHeap };
  struct LaneTurn {
    QueueIndex queue = 0;
    std::vector<ClassTurn> classes;
    std::vector<std::uint32_t> heads;  // classes with a next job; as a heap: the first on top
    HeadOrder order = HeadOrder::kNone;

    void push(std::uint32_t of);
    std::uint32_t pop();
    void sort();
  };
  [[nodiscard]] std::size_t next_lane() const;
  [[nodiscard]] LaneTurn& add_lane(QueueIndex queue);
  void close(const LaneTurn& lane);
  static void feed(LaneTurn& lane, std::uint32_t of, const std::optional<OrderKey>& after);

  const State& state_;
  const Owners& owners_;
  const Waiting& waiting_;
  std::vector<LaneTurn> lanes_;           // the first `lanes_used_` of them count
  std::size_t lanes_used_ = 0;
  std::vector<std::size_t> lane_of_queue_;
  std::vector<std::int64_t> live_;        // lanes with jobs in line in each queue's subtree
  std::size_t chosen_lane_ = 0;
  std::uint32_t chosen_ = 0;
};

}  // namespace rota::engine
