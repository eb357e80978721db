#include "engine/state.h"

#include <algorithm>

#include "base/check.h"

namespace rota::engine {

std::int64_t JobRec::milli_total() const {
  if (!alloc.empty()) return milli_of(alloc);
  return task_milli * shape.tasks;
}

std::optional<Instant> JobRec::attempt_started() const {
  return history.empty() || !holds_devices() ? std::nullopt : history.back().started;
}

std::optional<Instant> JobRec::contract_ends() const {
  const auto from = attempt_started();
  if (!from || !spec.min_runtime) return std::nullopt;
  return later(*from, *spec.min_runtime);
}

std::optional<Instant> JobRec::begins_at() const {
  return spec.begin && not_before ? std::max(*spec.begin, *not_before)
         : spec.begin             ? spec.begin
                                  : not_before;
}

std::optional<Instant> JobRec::limit_ends() const {
  const auto from = attempt_started();
  if (!from || !spec.time_limit) return std::nullopt;
  return later(*from, *spec.time_limit);
}

NodeState NodeRec::state() const {
  if (future) return NodeState::kFuture;
  if (down || removed) return NodeState::kDown;
  if (quarantine) return NodeState::kQuarantined;
  if (drain) return running > 0 ? NodeState::kDraining : NodeState::kDrained;
  return NodeState::kUp;
}

std::int64_t NodeRec::healthy() const {
  if (!up()) return 0;
  return std::count_if(devices.begin(), devices.end(),
                       [](const DeviceRec& d) { return (d.out & kUnhealthy) == 0; });
}

JobRec& JobTable::add(JobId id) {
  const std::uint64_t page = id.value() / kPage;
  if (page >= pages_.size()) pages_.resize(page + 1);
  if (!pages_[page]) pages_[page] = std::make_unique<Page>();
  auto& slot = pages_[page]->jobs[id.value() % kPage];
  ROTA_CHECK(slot == nullptr);
  if (spares_.empty()) {
    slot = std::make_unique<JobRec>();
  } else {
    slot = std::move(spares_.back());
    spares_.pop_back();
  }
  slot->id = id;
  ++pages_[page]->used;
  ++size_;
  return *slot;
}

void JobTable::erase(JobId id) {
  const std::uint64_t page = id.value() / kPage;
  ROTA_CHECK(find(id) != nullptr);
  auto& slot = pages_[page]->jobs[id.value() % kPage];
  if (spares_.size() < kSparesMax) {
    std::destroy_at(slot.get());
    std::construct_at(slot.get());
    spares_.push_back(std::move(slot));
  }
  slot.reset();
  --size_;
  if (--pages_[page]->used == 0) pages_[page].reset();
}

void Mix::add(const TaskKind& kind, std::int64_t tasks) {
  seen[kind] += tasks;
  seen_total += tasks;
}

void Mix::look_if_grown() {
  constexpr std::int64_t kPart = 16;
  if (seen_total - used_total >= std::max<std::int64_t>(1, used_total / kPart)) look();
}

void Mix::look() {
  used = seen;
  used_total = seen_total;
  ++version;
}

}  // namespace rota::engine
