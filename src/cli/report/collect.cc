#include "cli/report/collect.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "cli/offline.h"
#include "history/words.h"
#include "report/words.h"

namespace rota::cli::reports {
namespace {

using history::AttemptRecord;
using history::JobHistory;
using history::JobRecord;
using history::Outcome;

/// How a stay was found out, where it was not told plainly.
enum class Found { kTold, kRunning, kFromSubmit, kNowhere };

/// When an attempt wanted GPUs and when it held them.
struct Stay {
  std::optional<Instant> wanted;
  std::optional<Period> held;
  std::optional<Instant> left;  // of one that never started
  Found found = Found::kTold;
};

std::optional<Instant> wanted_since(const JobRecord& job, const AttemptRecord& attempt) {
  if (attempt.eligible) return *attempt.eligible;
  if (attempt.queued) return *attempt.queued;
  if (job.submitted && job.attempt_count == 1) return *job.submitted;
  return std::nullopt;
}

/// `last` is the last instant that the history tells.
Stay stay_of(const JobRecord& job, const AttemptRecord& attempt, std::optional<Instant> last) {
  Stay stay{.wanted = wanted_since(job, attempt)};
  const auto run = attempt.run_time();
  if (attempt.started && attempt.ended) {
    stay.held = Period{*attempt.started, *attempt.ended};
  } else if (attempt.started && run) {
    stay.held = Period{*attempt.started, *attempt.started + *run};
  } else if (attempt.started && attempt.outcome == Outcome::kRunning && last) {
    stay.held = Period{*attempt.started, *last};
    stay.found = Found::kRunning;
  } else if (run && attempt.ended) {
    stay.held = Period{*attempt.ended - *run, *attempt.ended};
  } else if (run && stay.wanted) {
    stay.held = Period{*stay.wanted, *stay.wanted + *run};
    stay.found = Found::kFromSubmit;
  } else if (run || attempt.started) {
    stay.found = Found::kNowhere;
  } else if (attempt.ended) {
    stay.left = *attempt.ended;
  } else if (attempt.outcome == Outcome::kPending) {
    stay.left = last;
  }
  return stay;
}

struct Oddities {
  std::int64_t gpus_unknown = 0;
  std::int64_t part_unknown = 0;
  std::int64_t time_unknown = 0;
  std::int64_t placed_at_submit = 0;
  std::int64_t still_running = 0;
};

class Collector {
 public:
  Collector(const JobHistory& history, By by, Capacity capacity, ReportInput& input)
      : history_(history), by_(by), capacity_(capacity), input_(input) {
    if (const auto span = history.span()) last_ = span->end;
    told_pools_ = input.pools.size();
  }

  void run() {
    for (const AttemptRecord& attempt : history_.attempts()) add(attempt);
    input_.usage.groups = static_cast<std::uint32_t>(input_.groups.size());
    if (capacity_ == Capacity::kFromHistory) {
      const audit::UsageLines lines = audit::measure_usage(input_.usage);
      for (std::size_t i = 0; i < input_.pools.size(); ++i) {
        // Whole devices: a part of one that was held needs a whole one to be there.
        input_.usage.capacity[i] = whole_gpus((lines.pools[i].held_max.value() + 999) / 1000);
      }
    }
    add_notes();
  }

 private:
  void add(const AttemptRecord& attempt) {
    if (attempt.outcome == Outcome::kRejected) return;
    const history::GpuSetId gpus = history_.gpus_of(attempt);
    if (gpus == history::kNoGpus) return;
    const Stay stay = stay_of(history_.jobs()[attempt.job], attempt, last_);
    if (stay.found == Found::kRunning) ++odd_.still_running;
    if (stay.found == Found::kFromSubmit) ++odd_.placed_at_submit;
    if (stay.found == Found::kNowhere) ++odd_.time_unknown;
    if (!stay.held && !(stay.wanted && stay.left)) return;
    if (!gpus.known()) {
      if (stay.held) ++odd_.gpus_unknown;
      return;
    }
    for (const history::GpuItem& item : history_.gpus().items(gpus)) {
      const auto milli = milli_of(item);
      if (!milli) {
        if (stay.held) ++odd_.part_unknown;
        continue;
      }
      add_stay(attempt, item, stay, *milli);
    }
  }

  void add_stay(const AttemptRecord& attempt, const history::GpuItem& item, const Stay& stay,
                MilliGpu gpus) {
    const std::uint32_t group = group_of(attempt, item);
    if (stay.held) {
      input_.usage.holds.push_back({stay.held->begin, stay.held->end, gpus, pool_of(item), group,
                                    held_kind_of(attempt.outcome)});
    }
    if (!stay.wanted) return;
    const Instant until = stay.held ? stay.held->begin : *stay.left;
    if (*stay.wanted >= until) return;
    std::optional<std::uint32_t> pool;
    if (stay.held || !item.model.empty()) pool = pool_of(item);
    input_.usage.waits.push_back({*stay.wanted, until, gpus, pool});
    input_.wait_groups.push_back(group);
  }

  std::optional<MilliGpu> milli_of(const history::GpuItem& item) const {
    if (item.partition.empty()) return MilliGpu(item.milli);
    const auto part = audit::partition_size(history_.text(item.model),
                                            history_.text(item.partition));
    if (!part) return std::nullopt;
    return MilliGpu(static_cast<std::int64_t>(Int128{part->value()} * item.milli / 1000));
  }

  std::uint32_t pool_of(const history::GpuItem& item) {
    const auto [found, is_new] = pools_.emplace(item.model.index, 0);
    if (is_new) found->second = find_pool(history_.text(item.model));
    return found->second;
  }

  std::uint32_t find_pool(std::string_view model) {
    std::optional<std::size_t> unnamed;
    for (std::size_t i = 0; i < input_.pools.size(); ++i) {
      if (history::same_word(input_.pools[i].model, model)) return static_cast<std::uint32_t>(i);
      if (i < told_pools_ && input_.pools[i].model.empty()) unnamed = i;
    }
    if (model.empty() && told_pools_ == 1) unnamed = 0;
    if (unnamed) return static_cast<std::uint32_t>(*unnamed);
    input_.pools.push_back({std::string(model), {}});
    input_.usage.capacity.emplace_back();
    return static_cast<std::uint32_t>(input_.pools.size() - 1);
  }

  std::uint32_t group_of(const AttemptRecord& attempt, const history::GpuItem& item) {
    const JobRecord& job = history_.jobs()[attempt.job];
    std::uint32_t key = attempt.job;
    switch (by_) {
      case By::kQueue: key = job.queue.index; break;
      case By::kUser: key = job.user.index; break;
      case By::kClass: key = job.job_class.index; break;
      case By::kModel: key = item.model.index; break;
      case By::kJob: break;
    }
    const auto [found, is_new] =
        groups_.emplace(key, static_cast<std::uint32_t>(input_.groups.size()));
    if (is_new) {
      input_.groups.push_back(by_ == By::kJob ? history_.id_text(job.key)
                                              : std::string(history_.text({key})));
    }
    return found->second;
  }

  void add_notes() {
    const auto note = [&](std::int64_t count, std::string_view what) {
      if (count > 0) {
        input_.notes.push_back(grouped(count) + (count == 1 ? " attempt " : " attempts ") +
                               std::string(what));
      }
    };
    note(odd_.gpus_unknown, "ran with a number of GPUs not told; not counted");
    note(odd_.part_unknown, "held a share of GPUs whose size is not told; not counted");
    note(odd_.time_unknown, "ran at a time not told; not counted");
    note(odd_.placed_at_submit, "told no start; counted from the submit");
    note(odd_.still_running, "ran when the history was taken; counted until then");
    if (capacity_ == Capacity::kFromHistory) {
      input_.notes.emplace_back("the capacity is not told; it is taken as the most GPUs held at "
                                "once of each model (say --on CLUSTER)");
      return;
    }
    for (std::size_t i = told_pools_; i < input_.pools.size(); ++i) {
      const std::string& model = input_.pools[i].model;
      input_.notes.push_back("the cluster has no " +
                             (model.empty() ? "GPU without a model" : model) +
                             "; what was held of it stands beyond the capacity");
    }
  }

  const JobHistory& history_;
  By by_;
  Capacity capacity_;
  ReportInput& input_;
  std::optional<Instant> last_;
  std::size_t told_pools_ = 0;
  Oddities odd_;
  std::map<std::uint32_t, std::uint32_t> pools_;   // by model
  std::map<std::uint32_t, std::uint32_t> groups_;  // by name or job
};

}  // namespace

std::optional<Period> period_of_history(const history::JobHistory& history) {
  const auto span = history.span();
  if (!span) return std::nullopt;
  Period period{span->begin, span->end};
  for (const AttemptRecord& attempt : history.attempts()) {
    const Stay stay = stay_of(history.jobs()[attempt.job], attempt, span->end);
    if (!stay.held) continue;
    period.begin = std::min(period.begin, stay.held->begin);
    period.end = std::max(period.end, stay.held->end);
  }
  return period;
}

void collect(const history::JobHistory& history, By by, Capacity capacity, ReportInput& input) {
  Collector(history, by, capacity, input).run();
}

}  // namespace rota::cli::reports
