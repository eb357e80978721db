#include "audit/over_requests.h"

#include <algorithm>
#include <vector>

namespace rota::audit {
namespace {

template <class T>
T middle_of(std::vector<T>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Whole GPUs, in thousandths, that the busy time of `held` fills; at least one.
std::int64_t needed_milli(std::int32_t held, std::int16_t busy_permille) {
  const std::int64_t busy = std::int64_t{held} * busy_permille / 1000;
  return std::max<std::int64_t>(1000, (busy + 999) / 1000 * 1000);
}

GpuUse measure_gpus(const Work& work, const Window& window) {
  GpuUse use;
  std::vector<GpuTime> by_user(work.users.size(), 0);
  for (const WorkRun& run : work.runs) {
    if (run.held_milli < 2000 || run.end != End::kCompleted) continue;
    const GpuTime held = gpu_time_inside(work, run, window);
    if (held <= 0 || run.run < GpuUse::kLengthMin) continue;
    ++use.runs;
    if (run.busy_permille < 0) continue;
    ++use.measured;
    use.held += held;
    const std::int64_t needed = needed_milli(run.held_milli, run.busy_permille);
    if (needed * 2 > run.held_milli) continue;
    const GpuTime excess = held * (run.held_milli - needed) / run.held_milli;
    ++use.over;
    use.over_held += held;
    use.excess += excess;
    by_user[work.job_of(run).user] += excess;
  }
  for (std::size_t i = 1; i < by_user.size(); ++i) {
    if (by_user[i] <= use.user_excess) continue;
    use.user_excess = by_user[i];
    use.user = work.users[i];
  }
  return use;
}

void add_memory(const WorkRun& run, const RunMemory& memory, std::int64_t length, MemoryUse& use,
                std::vector<std::int64_t>& used) {
  if (run.end != End::kCompleted || memory.used_mib == kMemoryNotTold) return;
  if (memory.several_nodes) ++use.several_nodes;
  if (memory.several_nodes || memory.asked_mib == kMemoryNotTold || memory.asked_mib == 0) return;
  ++use.told;
  const std::int64_t asked = memory.asked_mib;
  const std::int64_t permille = std::int64_t{memory.used_mib} * 1000 / asked;
  used.push_back(permille);
  if (permille < 500) ++use.below_half;
  if (permille < 100) ++use.below_tenth;
  use.asked += Int128{asked} * length;
  use.excess += Int128{std::max<std::int64_t>(0, asked - memory.used_mib)} * length;
}

void add_gpu_memory(const WorkRun& run, const RunMemory& memory, GpuTime held, GpuMemoryUse& use,
                    std::vector<std::int64_t>& used) {
  if (memory.gpu_mib == kMemoryNotTold) return;
  ++use.told;
  used.push_back(memory.gpu_mib);
  use.used_max = std::max<std::int64_t>(use.used_max, memory.gpu_mib);
  const bool is_small = run.held_milli == 1000 && memory.gpu_mib <= GpuMemoryUse::kPartMib &&
                        run.busy_permille >= 0 && run.busy_permille < GpuMemoryUse::kPartBusy;
  if (!is_small || run.end != End::kCompleted || run.run < GpuUse::kLengthMin) return;
  ++use.small;
  use.small_held += held;
}

}  // namespace

OverRequests measure_over_requests(const Work& work, const Window& window) {
  OverRequests out;
  out.gpus = measure_gpus(work, window);
  for (const WorkRun& run : work.runs) {
    if (run.held_milli <= 0 || run.end != End::kCompleted) continue;
    if (gpu_time_inside(work, run, window) > 0) ++out.memory.runs;
  }
  std::vector<std::int64_t> used;
  std::vector<std::int64_t> gpu_used;
  for (const RunMemory& memory : work.memory) {
    const WorkRun& run = work.runs[memory.run];
    if (run.held_milli <= 0) continue;
    const GpuTime held = gpu_time_inside(work, run, window);
    if (held <= 0) continue;
    const auto length = static_cast<std::int64_t>(held / run.held_milli);
    add_memory(run, memory, length, out.memory, used);
    add_gpu_memory(run, memory, held, out.gpu_memory, gpu_used);
  }
  if (!used.empty()) out.memory.used_p50 = middle_of(used);
  if (!gpu_used.empty()) out.gpu_memory.used_p50 = middle_of(gpu_used);
  return out;
}

}  // namespace rota::audit
