// A second scheduler, slow and obvious: lists only, everything counted anew for every question. It
// knows gangs of whole GPUs, one level of queues with weight, quota and limit, order fair
// (instant), priority and fifo, backfill off, greedy and easy, and packing. No preemption.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rota::property {

struct RefQueue {
  std::int64_t weight = 1;
  std::int64_t quota = 0;               // GPUs
  std::optional<std::int64_t> limit;    // GPUs
};

struct RefJob {
  std::uint64_t id = 0;
  std::size_t queue = 0;
  std::int64_t priority = 0;
  std::int64_t submitted = 0;           // all times in minutes
  std::int64_t gpus = 1;                // of one task
  std::int64_t tasks = 1;
  std::optional<std::int64_t> limit;
};

enum class RefOrder { kFair, kPriority, kFifo };
enum class RefBackfill { kEasy, kGreedy, kOff };

/// Devices of one task: the node and its indices there.
struct RefTask {
  std::size_t node = 0;
  std::vector<std::size_t> devices;
  friend bool operator==(const RefTask&, const RefTask&) = default;
};

struct RefStart {
  std::uint64_t id = 0;
  std::vector<RefTask> tasks;
  friend bool operator==(const RefStart&, const RefStart&) = default;
};

class Reference {
 public:
  Reference(std::vector<std::int64_t> gpus_of_nodes, std::vector<RefQueue> queues, RefOrder order,
            RefBackfill backfill)
      : nodes_(std::move(gpus_of_nodes)), queues_(std::move(queues)), order_(order),
        backfill_(backfill) {}

  void submit(const RefJob& job) { waiting_.push_back(job); }
  void finish(std::uint64_t id);
  /// Starts what may start, in the order of turns.
  std::vector<RefStart> schedule(std::int64_t now);

 private:
  using Free = std::vector<std::vector<bool>>;   // by node and device
  struct Running {
    RefJob job;
    std::int64_t started = 0;
    std::vector<RefTask> tasks;
  };
  struct Held {                                  // the reservation
    RefJob job;
    std::int64_t at = 0;
    std::vector<RefTask> tasks;
  };

  [[nodiscard]] Free all_free() const;
  static void take(Free& free, const std::vector<RefTask>& tasks);
  static std::optional<std::vector<RefTask>> pack(Free free, const RefJob& job);
  [[nodiscard]] Free free_now() const;
  [[nodiscard]] Free free_at(std::int64_t at) const;
  [[nodiscard]] std::int64_t held_by(std::size_t queue) const;
  [[nodiscard]] bool queue_before(std::size_t a, std::size_t b) const;
  [[nodiscard]] bool job_before(const RefJob& a, const RefJob& b) const;
  [[nodiscard]] const RefJob* next_job(const std::vector<std::uint64_t>& passed) const;
  [[nodiscard]] std::optional<Held> reserve(const RefJob& job, std::int64_t now) const;
  [[nodiscard]] bool respects(const Held& held, const RefJob& job,
                              const std::vector<RefTask>& tasks, std::int64_t now) const;

  std::vector<std::int64_t> nodes_;
  std::vector<RefQueue> queues_;
  RefOrder order_;
  RefBackfill backfill_;
  std::vector<RefJob> waiting_;
  std::vector<Running> running_;
  std::optional<std::size_t> holder_queue_;      // of the last schedule's reservation
};

}  // namespace rota::property
