#include "engine/waiting.h"

#include <algorithm>

#include "base/check.h"

namespace rota::engine {

namespace {
constexpr std::size_t kBlockMax = 256;

bool before(const OrderedJobs::Entry& entry, const OrderKey& key) { return entry.key < key; }
}  // namespace

OrderKey order_key(const JobRec& job, Order order) {
  const std::uint64_t id = job.id.value();
  OrderKey key{0, job.submitted.ns(), id, true, id};
  switch (order) {
    case Order::kFair:
    case Order::kPriority: key.first = -job.spec.priority; break;
    case Order::kShortest: {
      const auto& runtime = job.spec.true_runtime ? job.spec.true_runtime : job.spec.time_limit;
      key.first = runtime ? runtime->ns() : kNoLimit;
      break;
    }
    case Order::kFifo: break;
  }
  if (!job.moved_before) return key;
  const MovedBefore& moved = *job.moved_before;
  return {moved.first, moved.second, moved.anchor, false, id};
}

void OrderedJobs::refresh(Block& block) {
  block.limit_min = kNoLimit;
  for (const Entry& entry : block.entries) {
    block.limit_min = std::min(block.limit_min, entry.limit);
  }
}

void OrderedJobs::insert(const Entry& entry) {
  if (size_ == 0 || entry.key < front_.key) front_ = entry;
  ++size_;
  if (blocks_.empty()) {
    blocks_.push_back({{entry}, entry.limit});
    return;
  }
  auto block = std::lower_bound(
      blocks_.begin(), blocks_.end(), entry.key,
      [](const Block& b, const OrderKey& key) { return b.entries.back().key < key; });
  if (block == blocks_.end()) --block;
  auto& entries = block->entries;
  entries.insert(std::lower_bound(entries.begin(), entries.end(), entry.key, before), entry);
  block->limit_min = std::min(block->limit_min, entry.limit);
  if (entries.size() <= kBlockMax) return;
  Block tail;
  tail.entries.assign(entries.begin() + kBlockMax / 2, entries.end());
  entries.resize(kBlockMax / 2);
  refresh(*block);
  refresh(tail);
  blocks_.insert(block + 1, std::move(tail));
}

void OrderedJobs::erase(const OrderKey& key) {
  auto block = std::lower_bound(
      blocks_.begin(), blocks_.end(), key,
      [](const Block& b, const OrderKey& k) { return b.entries.back().key < k; });
  ROTA_CHECK(block != blocks_.end());
  auto& entries = block->entries;
  const auto place = std::lower_bound(entries.begin(), entries.end(), key, before);
  ROTA_CHECK(place != entries.end() && place->key == key);
  const bool was_min = place->limit == block->limit_min;
  entries.erase(place);
  --size_;
  if (entries.empty()) {
    blocks_.erase(block);
  } else if (was_min) {
    refresh(*block);
  }
  if (key == front_.key) note_front();
}

const OrderedJobs::Entry* OrderedJobs::next(const std::optional<OrderKey>& from,
                                            std::int64_t limit) const {
  auto block = blocks_.begin();
  if (from) {
    block = std::lower_bound(
        blocks_.begin(), blocks_.end(), *from,
        [](const Block& b, const OrderKey& key) { return b.entries.back().key <= key; });
  }
  for (; block != blocks_.end(); ++block) {
    if (block->limit_min > limit) continue;
    const auto& entries = block->entries;
    auto entry = entries.begin();
    if (from && entries.front().key <= *from) {
      entry = std::upper_bound(entries.begin(), entries.end(), *from,
                               [](const OrderKey& key, const Entry& e) { return key < e.key; });
    }
    for (; entry != entries.end(); ++entry) {
      if (entry->limit <= limit) return &*entry;
    }
  }
  return nullptr;
}

std::size_t OrderedJobs::count_before(const OrderKey& key) const {
  std::size_t count = 0;
  for (const Block& block : blocks_) {
    if (block.entries.back().key < key) {
      count += block.entries.size();
      continue;
    }
    const auto& entries = block.entries;
    return count + (std::lower_bound(entries.begin(), entries.end(), key, before) -
                    entries.begin());
  }
  return count;
}

void Waiting::clear() {
  lanes_.clear();
  throttled_.clear();
  demand_.clear();
  changed_.clear();
  takeable_ = 0;
  size_ = 0;
}

QueueIndex Waiting::lane_of(const JobRec& job) const {
  return state_.policy.order == Order::kFair ? job.queue : 0;
}

void Waiting::insert(const JobRec& job) {
  Lane& lane = lanes_[lane_of(job)];
  lane.queue = lane_of(job);
  const ClassKey key{job.queue, job.shape_index, job.spec.priority, job.spec.charge};
  JobClass& job_class = lane.classes[key];
  job_class.key = key;
  job_class.jobs.insert({order_key(job, state_.policy.order),
                         job.spec.time_limit ? job.spec.time_limit->ns() : kNoLimit});
  ++lane.size;
  ++size_;
  count(job, 1);
}

void Waiting::erase(const JobRec& job) {
  const auto lane = lanes_.find(lane_of(job));
  ROTA_CHECK(lane != lanes_.end());
  const ClassKey key{job.queue, job.shape_index, job.spec.priority, job.spec.charge};
  const auto job_class = lane->second.classes.find(key);
  ROTA_CHECK(job_class != lane->second.classes.end());
  job_class->second.jobs.erase(order_key(job, state_.policy.order));
  --lane->second.size;
  if (job_class->second.jobs.empty()) {
    emptied_ = emptied_ || in_pass_;
    if (!in_pass_) lane->second.classes.erase(job_class);
  }
  if (lane->second.size == 0 && !in_pass_) lanes_.erase(lane);
  --size_;
  count(job, -1);
}

void Waiting::close_pass() {
  in_pass_ = false;
  if (!emptied_) return;
  emptied_ = false;
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    std::erase_if(lane->second.classes, [](const auto& c) { return c.second.jobs.empty(); });
    lane = lane->second.classes.empty() ? lanes_.erase(lane) : std::next(lane);
  }
}

void Waiting::count(const JobRec& job, std::int64_t sign) {
  if (job.may_be_taken()) takeable_ += sign;
  if (!job.spec.charge) return;
  changed_.push_back(job.queue);
  if (demand_.size() < state_.queues.size()) demand_.resize(state_.queues.size(), 0);
  const std::int64_t milli = job.task_milli * job.shape.tasks;
  const auto group = job.spec.group.valid() ? state_.groups.find(job.spec.group)
                                            : state_.groups.end();
  if (group == state_.groups.end() || !group->second.throttle) {
    demand_[job.queue] += sign * milli;
    return;
  }
  ThrottledDemand& throttled = throttled_[job.spec.group];
  throttled.queue = job.queue;
  throttled.milli_each = milli;
  throttled.waiting += sign;
  if (throttled.waiting == 0) throttled_.erase(job.spec.group);
}

const std::vector<std::int64_t>& Waiting::demand() const {
  if (demand_.size() < state_.queues.size()) demand_.resize(state_.queues.size(), 0);
  if (throttled_.empty()) return demand_;
  with_throttled_ = demand_;
  for (const auto& [id, throttled] : throttled_) {
    const GroupRec& group = state_.groups.at(id);
    const std::int64_t room = std::max<std::int64_t>(0, *group.throttle - group.active);
    with_throttled_[throttled.queue] += std::min(room, throttled.waiting) * throttled.milli_each;
  }
  return with_throttled_;
}

std::vector<JobId> Waiting::in_order(const Lane& lane, std::size_t most) const {
  std::vector<JobId> out;
  for (const bool charged : {true, false}) {
    // Heads of the classes, the lowest key first.
    std::map<OrderKey, const JobClass*> heads;
    for (const auto& [key, job_class] : lane.classes) {
      if (key.charge != charged) continue;
      const auto* entry = job_class.jobs.next(std::nullopt, kNoLimit);
      if (entry != nullptr) heads[entry->key] = &job_class;
    }
    while (!heads.empty() && out.size() < most) {
      const auto [key, job_class] = *heads.begin();
      heads.erase(heads.begin());
      out.push_back(JobId(key.id));
      const auto* entry = job_class->jobs.next(key, kNoLimit);
      if (entry != nullptr) heads[entry->key] = job_class;
    }
  }
  return out;
}

std::int64_t Waiting::ahead(const JobRec& job) const {
  const auto lane = lanes_.find(lane_of(job));
  if (lane == lanes_.end()) return 0;
  const OrderKey key = order_key(job, state_.policy.order);
  std::size_t count = 0;
  for (const auto& [class_key, job_class] : lane->second.classes) {
    if (class_key.charge == job.spec.charge) {
      count += job_class.jobs.count_before(key);
    } else if (class_key.charge) {
      count += job_class.jobs.size();
    }
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace rota::engine
