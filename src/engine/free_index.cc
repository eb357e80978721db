#include "engine/free_index.h"

#include <algorithm>
#include <bit>

namespace rota::engine {

namespace {

/// The first key of the group before that of `key`; kEnd: there is none.
std::uint64_t group_before(const KeySet& keys, std::uint64_t key) {
  const std::uint64_t last = keys.below(PlaceKey::group(key) << PlaceKey::kNodeBits);
  if (last == KeySet::kEnd) return KeySet::kEnd;
  return keys.at_least(PlaceKey::group(last) << PlaceKey::kNodeBits);
}

/// The key after `key` among those sorted by falling group and, within, rising index.
std::uint64_t next_falling(const KeySet& keys, std::uint64_t key) {
  const std::uint64_t next = keys.at_least(key + 1);
  if (next != KeySet::kEnd && PlaceKey::group(next) == PlaceKey::group(key)) return next;
  return group_before(keys, key);
}

std::uint64_t first_falling(const KeySet& keys) { return group_before(keys, KeySet::kEnd); }

bool shares(const DeviceCap& device) {
  return device.usable() && !device.mig && device.mode == DeviceMode::kFraction &&
         device.milli_free > 0;
}

bool all_equal(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if ((i < a.size() ? a[i] : 0) != (i < b.size() ? b[i] : 0)) return false;
  }
  return true;
}

/// Equal lists of sets, where missing ones are empty.
template <class Set>
bool all_equal(const std::vector<Set>& a, const std::vector<Set>& b) {
  const Set none;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (!((i < a.size() ? a[i] : none) == (i < b.size() ? b[i] : none))) return false;
  }
  return true;
}

template <class Items>
void grow_to(Items& items, std::int64_t size) {
  if (size > std::ssize(items)) items.resize(static_cast<std::size_t>(size));
}

}  // namespace

std::int32_t room_on(const DeviceCap& device) {
  return device.mig ? 1000 - std::popcount(device.mig_used) : device.milli_free;
}

void FreeIndex::admit(const NodeCap& cap) {
  grow_to(pure_, std::ssize(cap.devices) + 1);
  grow_to(mixed_, std::ssize(cap.devices) + 1);
  grow_to(racks_, std::int64_t{cap.rack} + 1);
  grow_to(blocks_, std::int64_t{cap.block} + 1);
}

template <class Change>
void FreeIndex::for_each_part(std::int32_t node, const NodeCap& cap, Change&& change) {
  for (const DeviceCap& device : cap.devices) {
    if (device.mig && device.usable()) {
      change(instances_, PlaceKey::of(room_on(device), cap.free.milli, node));
    } else if (shares(device)) {
      change(parts_, PlaceKey::of(room_on(device), cap.free.milli, node));
    }
  }
}

void FreeIndex::add_other(std::int32_t node, const NodeCap& cap) {
  if (!cap.open) return;
  if (cap.devices.empty()) {
    bare_.insert(node);
    return;
  }
  count(cap, cap.free.milli);
  const auto whole = static_cast<std::size_t>(cap.free.whole);
  if (pure(cap)) {
    pure_[whole].insert(node);
  } else {
    mixed_[whole].insert(PlaceKey::of(0, cap.free.milli, node));
  }
  for_each_part(node, cap, [](KeySet& set, std::uint64_t key) { set.insert(key); });
}

void FreeIndex::remove_other(std::int32_t node, const NodeCap& cap) {
  if (!cap.open) return;
  if (cap.devices.empty()) {
    bare_.erase(node);
    return;
  }
  count(cap, -cap.free.milli);
  const auto whole = static_cast<std::size_t>(cap.free.whole);
  if (pure(cap)) {
    pure_[whole].erase(node);
  } else {
    mixed_[whole].erase(PlaceKey::of(0, cap.free.milli, node));
  }
  for_each_part(node, cap, [](KeySet& set, std::uint64_t key) { set.erase(key); });
}

bool operator==(const FreeIndex& a, const FreeIndex& b) {
  return a.bare_ == b.bare_ && all_equal(a.pure_, b.pure_) && all_equal(a.mixed_, b.mixed_) &&
         a.parts_ == b.parts_ && a.instances_ == b.instances_ && a.milli_ == b.milli_ &&
         all_equal(a.racks_, b.racks_) && all_equal(a.blocks_, b.blocks_);
}

FreeWalk::FreeWalk(const FreeIndex& index, const NodeSet& among, Least least, FreeOrder order)
    : index_(index), among_(among), least_(least), order_(order) {
  const auto lowest = static_cast<std::int32_t>(
      std::max<std::int64_t>(least.whole, (least.milli + 999) / 1000));
  least_.whole = lowest;
  const auto levels = static_cast<std::int32_t>(index.pure().size());
  level_ = order == FreeOrder::kLeastFirst ? lowest : levels - 1;
  for (std::size_t i = static_cast<std::size_t>(least.whole); i < index.mixed().size(); ++i) {
    Run run{&index.mixed()[i], KeySet::kEnd};
    if (run.keys->empty()) continue;
    run.at = order == FreeOrder::kLeastFirst
                 ? run.keys->at_least(PlaceKey::of(0, least.milli, 0))
                 : first_falling(*run.keys);
    clip(run);
    settle(run);
    if (run.at != KeySet::kEnd) runs_.push_back(run);
  }
}

/// The next pure node, from `level_` and `from_` on.
void FreeWalk::find_level() {
  level_known_ = true;
  const auto levels = static_cast<std::int32_t>(index_.pure().size());
  const bool rising = order_ == FreeOrder::kLeastFirst;
  for (; level_ < levels && level_ >= least_.whole; level_ += rising ? 1 : -1, from_ = 0) {
    level_node_ = index_.pure()[static_cast<std::size_t>(level_)].next_common(among_, from_);
    if (level_node_ != NodeSet::kEnd) return;
  }
  level_node_ = NodeSet::kEnd;
}

/// Moves on to a node that is among those asked for.
void FreeWalk::settle(Run& run) const {
  while (run.at != KeySet::kEnd && !among_.contains(PlaceKey::node(run.at))) step(run);
}

void FreeWalk::step(Run& run) const {
  run.at = order_ == FreeOrder::kLeastFirst ? run.keys->at_least(run.at + 1)
                                            : next_falling(*run.keys, run.at);
  clip(run);
}

/// Ends the run where less is free than asked for.
void FreeWalk::clip(Run& run) const {
  if (run.at < PlaceKey::of(0, least_.milli, 0)) run.at = KeySet::kEnd;
}

std::int32_t FreeWalk::next() {
  if (!level_known_) find_level();
  Run* best = nullptr;
  for (Run& run : runs_) {
    if (run.at == KeySet::kEnd) continue;
    const bool first =
        best == nullptr || PlaceKey::rank(run.at, order_) < PlaceKey::rank(best->at, order_);
    if (first) best = &run;
  }
  const bool pure = level_node_ != NodeSet::kEnd &&
                    (best == nullptr || PlaceKey::rank(level_key(), order_) <
                                            PlaceKey::rank(best->at, order_));
  if (pure) {
    from_ = level_node_ + 1;
    level_known_ = false;
    return level_node_;
  }
  if (best == nullptr) return NodeSet::kEnd;
  const std::int32_t node = PlaceKey::node(best->at);
  step(*best);
  settle(*best);
  return node;
}

std::uint64_t PartWalk::next() {
  if (order_ == FreeOrder::kLeastFirst) {
    at_ = keys_.at_least(begun_ ? at_ + 1 : least_);
  } else {
    at_ = begun_ ? next_falling(keys_, at_) : first_falling(keys_);
    if (at_ != KeySet::kEnd && at_ < least_) at_ = KeySet::kEnd;
  }
  begun_ = at_ != KeySet::kEnd;
  return at_;
}

}  // namespace rota::engine
