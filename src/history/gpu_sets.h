// What a job asked for or held, by model and by part of a device. Few distinct sets make up a
// history, hence a set is kept once and named by a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "history/names.h"

namespace rota::history {

/// One kind of device in a set.
struct GpuItem {
  Name model;      // empty: the input does not say which
  Name partition;  // empty: whole devices or fractions of them; else `1g.10gb` (MIG), `shard`
  std::int64_t milli = 0;  // thousandths of a device, or of one such partition; > 0
  friend auto operator<=>(const GpuItem&, const GpuItem&) = default;
};

/// Number of a set in one GpuSets. Two are fixed: what the input does not tell, and no GPU.
struct GpuSetId {
  std::uint32_t index = 0;
  [[nodiscard]] bool known() const { return index != 0; }
  friend auto operator<=>(GpuSetId, GpuSetId) = default;
};
constexpr GpuSetId kGpusUnknown{0};
constexpr GpuSetId kNoGpus{1};

class GpuSets {
 public:
  GpuSets();

  /// The set of these items: equal kinds are added up, amounts of 0 or less left out, the order
  /// is by model and partition. None left: kNoGpus.
  [[nodiscard]] GpuSetId intern(std::vector<GpuItem> items, const NameTable& names);
  [[nodiscard]] std::span<const GpuItem> items(GpuSetId id) const { return sets_[id.index]; }
  [[nodiscard]] std::size_t size() const { return sets_.size(); }

  /// Whole devices and fractions, without partitions of devices. 0 also when it is unknown.
  [[nodiscard]] MilliGpu whole(GpuSetId id) const { return MilliGpu(whole_[id.index]); }
  /// Partitions of devices (MIG instances, shards), in thousandths of one partition.
  [[nodiscard]] std::int64_t partitions_milli(GpuSetId id) const { return parts_[id.index]; }
  /// An estimate of the set in GPUs: a partition named `<n>g...` counts n sevenths, other
  /// partitions (shards, whose share the input does not tell) nothing.
  [[nodiscard]] MilliGpu equivalent(GpuSetId id) const { return MilliGpu(equal_[id.index]); }

 private:
  GpuSetId add(std::vector<GpuItem> items, const NameTable* names);

  std::vector<std::vector<GpuItem>> sets_;
  std::vector<std::int64_t> whole_;
  std::vector<std::int64_t> parts_;
  std::vector<std::int64_t> equal_;
  std::map<std::vector<GpuItem>, std::uint32_t> by_items_;
};

/// `h100:2`, `2` (model not told), `a100/3g.20gb:1;a100:0.5`; `0` for none; empty when unknown. A
/// semicolon in a model becomes a comma.
[[nodiscard]] std::string gpu_set_text(const GpuSets& sets, const NameTable& names, GpuSetId id);
/// The inverse of gpu_set_text. Error: what was expected.
[[nodiscard]] Result<GpuSetId> parse_gpu_set(std::string_view text, GpuSets& sets,
                                             NameTable& names);

/// A device type in which a partition may hide, like `a100_3g.20gb`, `nvidia_a100_1g.5gb` or
/// `1g.10gb`; and the words for whole devices of one model in different systems.
struct DeviceType {
  std::string_view model;      // empty: not told
  std::string_view partition;  // empty: whole devices
};
[[nodiscard]] DeviceType split_device_type(std::string_view type);

}  // namespace rota::history
