// Where something is free: open nodes by how much of them is free, partly used devices by how full
// they are. Placement walks these in its own order instead of looking at every node.
//
// A node whose free part is whole devices alone lies in a bit set for that many; the others lie in
// ordered sets of (free milli-GPU, node), one for each number of whole free devices. Nodes without
// devices and closed nodes lie apart: the former in a set of their own, the latter nowhere.
// Derived from the ledger's records alone, which adds and removes a node around every change.
// Cost: add, remove O(1) for a node of whole devices, else O(devices x log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/capacity.h"
#include "engine/key_set.h"
#include "engine/node_set.h"

namespace rota::engine {

enum class FreeOrder : std::uint8_t { kLeastFirst, kMostFirst };

/// The place of a node, or of a device on it, in an order: 10 bits of room on the device, 27 of
/// free milli-GPU of the node, 27 of the node's index.
class PlaceKey {
 public:
  static constexpr int kNodeBits = 27;
  static constexpr int kMilliBits = 27;
  static constexpr std::int64_t kMilliMax = (std::int64_t{1} << kMilliBits) - 1;
  static std::uint64_t of(std::int64_t room, std::int64_t milli, std::int32_t node) {
    return (static_cast<std::uint64_t>(room) << (kMilliBits + kNodeBits)) |
           (static_cast<std::uint64_t>(milli) << kNodeBits) | static_cast<std::uint64_t>(node);
  }
  static std::int32_t node(std::uint64_t key) {
    return static_cast<std::int32_t>(key & ((std::uint64_t{1} << kNodeBits) - 1));
  }
  /// All but the node: equal for those that only their index tells apart.
  static std::uint64_t group(std::uint64_t key) { return key >> kNodeBits; }
  /// Lower comes first in this order; equals come by index.
  static std::uint64_t rank(std::uint64_t key, FreeOrder order) {
    constexpr std::uint64_t kNodes = (std::uint64_t{1} << kNodeBits) - 1;
    return order == FreeOrder::kLeastFirst ? key : key ^ ~kNodes;
  }
};

/// Room left on a shared device, in milli-GPU, or slices less than a thousand taken of one with MIG
/// instances: less is fuller.
std::int32_t room_on(const DeviceCap& device);

class FreeIndex {
 public:
  /// Makes room for nodes like this one; before the first add() of such a node.
  void admit(const NodeCap& cap);
  void add(std::int32_t node, const NodeCap& cap) {
    if (!simple(cap)) {
      add_other(node, cap);
      return;
    }
    count(cap, cap.free.milli);
    pure_[static_cast<std::size_t>(cap.free.whole)].insert(node);
  }
  void remove(std::int32_t node, const NodeCap& cap) {
    if (!simple(cap)) {
      remove_other(node, cap);
      return;
    }
    count(cap, -cap.free.milli);
    pure_[static_cast<std::size_t>(cap.free.whole)].erase(node);
  }

  /// Parts free on open nodes, in milli-GPU: everywhere, in a rack, in a block.
  [[nodiscard]] std::int64_t milli() const { return milli_; }
  [[nodiscard]] std::int64_t milli_in_rack(std::size_t rack) const { return at(racks_, rack); }
  [[nodiscard]] std::int64_t milli_in_block(std::size_t block) const { return at(blocks_, block); }

  /// Open nodes without devices.
  [[nodiscard]] const NodeSet& bare() const { return bare_; }
  /// Open nodes by whole free devices, where nothing else is free.
  [[nodiscard]] const std::vector<NodeSet>& pure() const { return pure_; }
  /// Open nodes by whole free devices, where parts of others are free as well.
  [[nodiscard]] const std::vector<KeySet>& mixed() const { return mixed_; }
  /// Nodes with devices that hold fractions and have room for more, by that room.
  [[nodiscard]] const KeySet& parts() const { return parts_; }
  /// Nodes with devices that hold or may hold MIG instances.
  [[nodiscard]] const KeySet& instances() const { return instances_; }

  friend bool operator==(const FreeIndex& a, const FreeIndex& b);

 private:
  static std::int64_t at(const std::vector<std::int64_t>& sums, std::size_t i) {
    return i < sums.size() ? sums[i] : 0;
  }
  static bool pure(const NodeCap& cap) {
    return cap.free.milli == std::int64_t{1000} * cap.free.whole;
  }
  /// Open, with devices, none of them partly free nor cut into instances.
  static bool simple(const NodeCap& cap) {
    return cap.open && !cap.devices.empty() && pure(cap) && !cap.devices.front().mig;
  }
  void count(const NodeCap& cap, std::int64_t milli) {
    milli_ += milli;
    if (cap.rack >= 0) racks_[static_cast<std::size_t>(cap.rack)] += milli;
    if (cap.block >= 0) blocks_[static_cast<std::size_t>(cap.block)] += milli;
  }
  void add_other(std::int32_t node, const NodeCap& cap);
  void remove_other(std::int32_t node, const NodeCap& cap);
  template <class Change>
  void for_each_part(std::int32_t node, const NodeCap& cap, Change&& change);

  NodeSet bare_;
  std::vector<NodeSet> pure_;
  std::vector<KeySet> mixed_;
  KeySet parts_;
  KeySet instances_;
  std::int64_t milli_ = 0;
  std::vector<std::int64_t> racks_;
  std::vector<std::int64_t> blocks_;
};

/// Open nodes with devices, out of `among`, by free milli-GPU, then by index. Between two steps the
/// node last given may lose what is free on it (kLeastFirst only); other nodes may not change.
class FreeWalk {
 public:
  struct Least {
    std::int32_t whole = 0;   // whole free devices
    std::int64_t milli = 0;   // free parts
  };
  FreeWalk(const FreeIndex& index, const NodeSet& among, Least least, FreeOrder order);
  /// NodeSet::kEnd: no more.
  [[nodiscard]] std::int32_t next();

 private:
  struct Run {
    const KeySet* keys = nullptr;
    std::uint64_t at = KeySet::kEnd;
  };
  void find_level();
  void settle(Run& run) const;
  void step(Run& run) const;
  void clip(Run& run) const;
  [[nodiscard]] std::uint64_t level_key() const {
    return PlaceKey::of(0, std::int64_t{1000} * level_, level_node_);
  }

  const FreeIndex& index_;
  const NodeSet& among_;
  Least least_;
  FreeOrder order_;
  std::int32_t level_ = 0;               // of the pure nodes
  std::int32_t level_node_ = NodeSet::kEnd;
  std::int32_t from_ = 0;
  bool level_known_ = false;
  std::vector<Run> runs_;
};

/// Devices of an ordered set of keys, by room, then by free milli-GPU of their node, then by index.
/// The set may not change meanwhile.
class PartWalk {
 public:
  PartWalk(const KeySet& keys, std::int64_t room_least, FreeOrder order)
      : keys_(keys), least_(PlaceKey::of(room_least, 0, 0)), order_(order) {}
  /// KeySet::kEnd: no more.
  [[nodiscard]] std::uint64_t next();

 private:
  const KeySet& keys_;
  std::uint64_t least_;
  FreeOrder order_;
  std::uint64_t at_ = KeySet::kEnd;
  bool begun_ = false;
};

}  // namespace rota::engine
