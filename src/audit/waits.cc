#include "audit/waits.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rota::audit {
namespace {

struct Wait {
  std::int64_t length;
  std::uint32_t run;
};

/// Figures of one group while waits come in rising order.
struct Rising {
  WaitFigures figures;
  std::int64_t seen = 0;

  static std::int64_t rank(std::int64_t count, std::int64_t percent) {
    return (count * percent + 99) / 100;
  }
  void add(std::int64_t wait) {
    ++seen;
    if (seen == rank(figures.count, 50)) figures.p50 = wait;
    if (seen == rank(figures.count, 90)) figures.p90 = wait;
    if (seen == rank(figures.count, 99)) figures.p99 = wait;
    figures.max = wait;
    figures.sum += wait;
  }
};

class Groups {
 public:
  explicit Groups(const Work& work)
      : work_(work), classes_(work.classes.size()), teams_(work.owners.size()), sizes_(kSizes) {}

  /// Calls `use` for each group that the run belongs to.
  template <class Use>
  void each(const WorkRun& run, Use use) {
    const WorkJob& job = work_.job_of(run);
    use(all_);
    use(classes_[job.job_class]);
    use(teams_[job.owner]);
    use(sizes_[static_cast<std::size_t>(size_of(work_.wanted_of(run)))]);
  }

  [[nodiscard]] Waits finish() const {
    Waits waits;
    waits.all = all_.figures;
    waits.by_class = named(classes_, work_.classes);
    waits.by_team = named(teams_, work_.owners);
    for (int size = 0; size < kSizes; ++size) {
      const WaitFigures& figures = sizes_[static_cast<std::size_t>(size)].figures;
      if (runs_of(figures) > 0) waits.by_size.push_back({std::string(size_name(size)), figures});
    }
    return waits;
  }

 private:
  static std::int64_t runs_of(const WaitFigures& figures) {
    return figures.count + figures.unknown + figures.never;
  }
  static std::vector<WaitGroup> named(const std::vector<Rising>& groups,
                                      const std::vector<std::string>& names) {
    std::vector<WaitGroup> out;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (runs_of(groups[i].figures) > 0) out.push_back({names[i], groups[i].figures});
    }
    std::sort(out.begin(), out.end(), [](const WaitGroup& a, const WaitGroup& b) {
      const std::int64_t left = runs_of(a.figures);
      const std::int64_t right = runs_of(b.figures);
      return left != right ? left > right : a.name < b.name;
    });
    return out;
  }

  const Work& work_;
  Rising all_;
  std::vector<Rising> classes_;
  std::vector<Rising> teams_;
  std::vector<Rising> sizes_;
};

bool begins_inside(const Work& work, const WorkRun& run, const Window& window) {
  std::int64_t at = run.waiting_since != kNotTold ? run.waiting_since : run.started;
  if (at == kNotTold) at = work.job_of(run).submitted;
  return at == kNotTold || (at >= window.begin && at <= window.end);
}

}  // namespace

int size_of(std::int32_t milli) {
  if (milli < 1000) return 0;
  if (milli < 2000) return 1;
  if (milli <= 4000) return 2;
  return milli <= 8000 ? 3 : 4;
}

std::string_view size_name(int size) {
  constexpr std::array<std::string_view, kSizes> kNames{"<1", "1", "2-4", "5-8", "9+"};
  return kNames[static_cast<std::size_t>(size)];
}

Waits measure_waits(const Work& work, const Window& window) {
  Groups groups(work);
  std::vector<Wait> waits;
  waits.reserve(work.runs.size());
  for (std::uint32_t i = 0; i < work.runs.size(); ++i) {
    const WorkRun& run = work.runs[i];
    if (work.wanted_of(run) <= 0 || run.end == End::kRejected) continue;
    if (!begins_inside(work, run, window)) continue;
    const GpuTime held = gpu_time_inside(work, run, window);
    const bool started = run.started != kNotTold;
    const bool known = started && run.waiting_since != kNotTold;
    const bool never = !started && run.run == kNotTold;
    if (known) waits.push_back({std::max<std::int64_t>(0, run.started - run.waiting_since), i});
    groups.each(run, [&](Rising& group) {
      WaitFigures& figures = group.figures;
      ++(known ? figures.count : never ? figures.never : figures.unknown);
      figures.gpu_time += held;
    });
  }
  std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) {
    return a.length != b.length ? a.length < b.length : a.run < b.run;
  });
  for (const Wait& wait : waits) {
    groups.each(work.runs[wait.run], [&](Rising& group) { group.add(wait.length); });
  }
  return groups.finish();
}

}  // namespace rota::audit
