// Slurm's trackable resources: `billing=8,cpu=64,gres/gpu:a100=8,gres/gpu=8,mem=500G,node=1`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "history/gpu_sets.h"

namespace rota::history {

struct Tres {
  GpuSetId gpus;  // unknown when the text says nothing of devices; see TresReader
  std::optional<std::int64_t> cpus_milli;
  std::optional<Bytes> memory;
  std::optional<std::int64_t> nodes;
};

/// Collects devices of one job. Slurm counts typed ones twice, as their type and in the sum:
/// `gres/gpu:a100=2,gres/gpu=2` is two devices. What the sum has beyond the types has no type.
class TresGpus {
 public:
  explicit TresGpus(NameTable& names) : names_(names) {}
  /// `name` is what stands behind `gres/`: gpu, gpu:a100, gpu:a100_3g.20gb, shard, mps:t4, ...
  /// Others than gpu, shard and mps are passed over.
  void add(std::string_view name, std::int64_t count);
  [[nodiscard]] bool empty() const { return items_.empty() && sum_ == 0; }
  [[nodiscard]] std::vector<GpuItem> take();

 private:
  NameTable& names_;
  std::vector<GpuItem> items_;
  std::int64_t sum_ = 0;    // gres/gpu
  std::int64_t typed_ = 0;  // gres/gpu:TYPE
};

/// Parses such texts and remembers them: few distinct ones make up a history.
class TresReader {
 public:
  TresReader(GpuSets& sets, NameTable& names) : sets_(sets), names_(names) {}

  /// Words that are not understood are passed over. A text with other resources and no device is
  /// kNoGpus; an empty one is kGpusUnknown.
  [[nodiscard]] const Tres& read(std::string_view text);
  /// Older columns, AllocGRES and ReqGRES: `gpu:2`, `gpu:a100:2`, `gpu:a100:2(S:0-1)`, several
  /// with commas.
  [[nodiscard]] GpuSetId read_gres(std::string_view text);
  /// Whether any text named a device or a gres.
  [[nodiscard]] bool saw_devices() const { return saw_devices_; }

 private:
  [[nodiscard]] Tres parse(std::string_view text);

  GpuSets& sets_;
  NameTable& names_;
  std::unordered_map<std::string, Tres> known_;
  std::string key_;
  bool saw_devices_ = false;
};

/// The value of one word of such a text, like `gres/gpuutil` in TRESUsageInAve; empty: not there.
[[nodiscard]] std::string_view tres_value(std::string_view text, std::string_view word);

}  // namespace rota::history
