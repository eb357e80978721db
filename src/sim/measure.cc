#include "sim/measure.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "report/sentence.h"
#include "sim/words.h"

namespace rota::sim {

namespace {

// GPU time is in milli-GPU-nanoseconds: this many are a millionth of a GPU-hour, a whole one.
constexpr std::int64_t kPerMicroHour = 3'600'000'000;
constexpr std::int64_t kMillion = 1'000'000;

/// numerator / denominator, with a denominator above 0.
struct Ratio {
  Int128 numerator = 0;
  Int128 denominator = 1;
};

std::string decimal_words(Int128 numerator, Int128 denominator) {
  const bool negative = numerator < 0;
  if (negative) numerator = -numerator;
  const Int128 millionths = numerator * kMillion / denominator;
  const bool exact = millionths * denominator == numerator * kMillion;
  std::string places = std::to_string(static_cast<std::int64_t>(millionths % kMillion));
  places.insert(0, 6 - places.size(), '0');
  while (!places.empty() && places.back() == '0') places.pop_back();
  std::string text = std::to_string(static_cast<std::int64_t>(millionths / kMillion));
  if (!places.empty()) text += "." + places;
  return (exact ? "" : "about ") + std::string(negative ? "-" : "") + text;
}

bool compare(Operator op, Int128 actual, Int128 expected) {
  switch (op) {
    case Operator::kEqual: return actual == expected;
    case Operator::kNotEqual: return actual != expected;
    case Operator::kAtMost: return actual <= expected;
    case Operator::kAtLeast: return actual >= expected;
    case Operator::kContains: return false;
  }
  return false;
}

Measured number(const Check& check, std::int64_t actual, std::string words) {
  return {compare(check.op, actual, check.number), std::move(words)};
}
Measured count(const Check& check, std::int64_t actual) {
  return number(check, actual, std::to_string(actual));
}
Measured gpus(const Check& check, MilliGpu actual) {
  return number(check, actual.value(), format_gpus(actual));
}
Measured duration(const Check& check, Duration actual) {
  return number(check, actual.ns(), format_duration(actual));
}
Measured absent(const Check& check, std::string words) {
  return {check.op == Operator::kNotEqual, std::move(words)};
}
Measured instant(const Check& check, const std::optional<Instant>& actual, std::string_view none) {
  if (!actual) return absent(check, std::string(none));
  return duration(check, *actual - Instant{});
}
Measured gpu_hours(const Check& check, Int128 actual) {
  const Int128 expected = static_cast<Int128>(check.number) * kPerMicroHour;
  return {compare(check.op, actual, expected),
          decimal_words(actual, static_cast<Int128>(kPerMicroHour) * kMillion)};
}
/// Costs are in micro-money x milli-GPU x nanoseconds per GPU-hour.
Measured money(const Check& check, Int128 actual) {
  const Int128 per_micro = static_cast<Int128>(kPerMicroHour) * kMillion;
  return {compare(check.op, actual, check.number * per_micro),
          decimal_words(actual / kMillion, per_micro)};
}
Measured ratio(const Check& check, Ratio actual) {
  if (actual.denominator == 0) return absent(check, "not measurable");
  const Int128 expected = check.number * actual.denominator;
  return {compare(check.op, actual.numerator * kMillion, expected),
          decimal_words(actual.numerator, actual.denominator)};
}
Measured word(const Check& check, std::string_view actual) {
  return {(actual == check.value) == (check.op == Operator::kEqual), std::string(actual)};
}
Measured items(const Check& check, const std::vector<std::string>& actual, std::string words) {
  return {(actual == check.items) == (check.op == Operator::kEqual),
          words.empty() ? "none" : std::move(words)};
}

/// `value` is in the reason's unit; a check without a unit of memory counts thousandths.
bool amount_holds(const Check& check, const Reason& reason,
                  const std::optional<std::int64_t>& value) {
  if (!value) return check.op == Operator::kNotEqual;
  const bool in_bytes = reason.resource == ReasonResource::kMemory ||
                        reason.resource == ReasonResource::kGpuMemory;
  if (in_bytes != check.in_bytes) {
    const bool both_zero = *value == 0 && check.number == 0;
    return both_zero ? compare(check.op, 0, 0) : check.op == Operator::kNotEqual;
  }
  const bool in_milli = !in_bytes && reason.code != ReasonCode::kArrayLimit &&
                        (!reason.resource || reason.resource == ReasonResource::kGpu);
  const Int128 scale = in_bytes || in_milli ? 1 : 1000;
  return compare(check.op, *value * scale, check.number);
}

bool reason_number_holds(const Check& check, const Reason& reason, const Scenario& scenario) {
  const bool equal = check.op == Operator::kEqual;
  if (check.key == "need") return amount_holds(check, reason, reason.need);
  if (check.key == "free") return amount_holds(check, reason, reason.free);
  if (check.key == "best") return amount_holds(check, reason, reason.best);
  if (check.key == "short") return amount_holds(check, reason, reason.missing);
  if (check.key == "freeable") return amount_holds(check, reason, reason.freeable);
  if (check.key == "limit") return amount_holds(check, reason, reason.limit);
  if (check.key == "until") return instant(check, reason.until, "").holds;
  if (check.key == "within") return (name_of(reason.within) == check.value) == equal;
  if (check.key == "resource") {
    const auto resource = reason.resource.value_or(ReasonResource::kGpu);
    return (name_of(resource) == check.value) == equal;
  }
  const std::string by =
      reason.by_job.valid() ? scenario.name_of_job(reason.by_job) : reason.by;
  return (by == check.value) == equal;
}

std::vector<Reason> reasons_of(const engine::Engine& engine, JobId job) {
  auto verdict = engine.explain(job);
  if (!verdict) return {};
  auto reasons = verdict->reasons;
  // A finished job has no current reasons, but may have ended for one.
  const auto ended_for = enum_from<ReasonCode>(verdict->end_cause);
  if (ended_for) {
    Reason reason;
    reason.code = *ended_for;
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

Measured measure_reason(const engine::Engine& engine, const Scenario& scenario, JobId job,
                        const Check& check, const std::vector<Check>& numbers) {
  const auto reasons = reasons_of(engine, job);
  bool found = false;
  std::vector<std::string> words;
  for (const auto& reason : reasons) {
    words.push_back(reason_words(reason, scenario));
    if (name_of(reason.code) != check.value) continue;
    found = found || check.op == Operator::kNotEqual ||
            std::all_of(numbers.begin(), numbers.end(), [&](const Check& n) {
              return reason_number_holds(n, reason, scenario);
            });
  }
  const std::string actual = words.empty() ? "no reason" : join(words, "; ");
  return {found == (check.op == Operator::kEqual), actual};
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Measured measure_explanation(const engine::Engine& engine, const Scenario& scenario, JobId job,
                             const Check& check) {
  const auto verdict = engine.explain(job);
  if (!verdict) return {false, verdict.error().message};
  const auto text = report::explain_paragraph(*verdict, wording_of(scenario));
  return {lower(text).find(lower(check.value)) != std::string::npos, "\"" + text + "\""};
}

std::string evictor_words(const JobStatus& status, const Scenario& scenario) {
  if (status.evicted_by.valid()) return scenario.name_of_job(status.evicted_by);
  return status.evicted_cause.empty() ? "nobody" : status.evicted_cause;
}

Measured measure_status(const engine::Engine& engine, const Scenario& scenario,
                        const JobStatus& status, const Check& check) {
  const std::string& key = check.key;
  const auto& places = status.allocation.tasks;
  if (key == "state") return word(check, state_word(status.state));
  if (key == "started") return instant(check, status.started, "never");
  if (key == "ended") return instant(check, status.ended, "not ended");
  if (key == "wait") {
    if (!status.first_started) return absent(check, "not started");
    return duration(check, *status.first_started - status.submitted);
  }
  if (key == "nodes") return items(check, nodes_of(places), join(nodes_of(places), ","));
  if (key == "devices") return items(check, devices_of(places), devices_words(places));
  if (key == "tasks") return count(check, status.tasks_running);
  if (key == "attempts") return count(check, status.attempts);
  if (key == "evictions") return count(check, status.evictions);
  if (key == "evicted_at") return instant(check, status.evicted_at, "never");
  if (key == "evicted_by") return word(check, evictor_words(status, scenario));
  if (key == "warned_at") return instant(check, status.warned_at, "never");
  if (key == "estimate") return instant(check, engine.estimate(status.id), "unknown");
  if (key == "lost") return duration(check, status.lost);
  if (key == "gpu_hours") return gpu_hours(check, status.gpu_time);
  if (key == "gpu_hours_lost") return gpu_hours(check, status.gpu_time_lost);
  if (key == "gpu_hours_idle") return gpu_hours(check, status.gpu_time_idle);
  return money(check, status.cost);
}

Measured missing(const Error& error) { return {false, error.message}; }

}  // namespace

Measured measure_job(const engine::Engine& engine, const Scenario& scenario, JobId job,
                     const Check& check, const std::vector<Check>& numbers) {
  if (check.kind == ValueKind::kReason) {
    return measure_reason(engine, scenario, job, check, numbers);
  }
  if (check.kind == ValueKind::kText) return measure_explanation(engine, scenario, job, check);
  const auto status = engine.job(job);
  if (!status) return missing(status.error());
  return measure_status(engine, scenario, *status, check);
}

Measured measure_queue(const engine::Engine& engine, const std::string& queue,
                       const Check& check) {
  const auto status = engine.queue(queue);
  if (!status) return missing(status.error());
  const std::string& key = check.key;
  if (key == "running") return count(check, status->running);
  if (key == "pending") return count(check, status->pending);
  if (key == "gpus_used") return gpus(check, status->gpus_used);
  if (key == "evictions") return count(check, status->evictions);
  if (key == "gpu_hours") return gpu_hours(check, status->gpu_time);
  if (key == "gpu_hours_lost") return gpu_hours(check, status->gpu_time_lost);
  if (key == "charged") return gpu_hours(check, status->charged);
  if (key == "usage") return gpu_hours(check, status->usage);
  if (key == "fair_share") return count(check, status->fair_share);
  if (key == "owed") return gpu_hours(check, status->owed);
  return gpu_hours(check, status->delivered);
}

Measured measure_node(const engine::Engine& engine, const std::string& node, const Check& check) {
  const auto status = engine.node(node);
  if (!status) return missing(status.error());
  const std::string& key = check.key;
  if (key == "running") return count(check, status->running);
  if (key == "gpus_used") return gpus(check, status->gpus_used);
  if (key == "gpus_free") return gpus(check, status->gpus_free);
  if (key == "gpus_healthy") return count(check, status->gpus_healthy);
  return word(check, name_of(status->state));
}

Measured measure_user(const engine::Engine& engine, const std::string& user, const Check& check) {
  // The engine learns of a user with the first job: before that there is nothing to count.
  const auto known = engine.user(user);
  const UserStatus none;
  const UserStatus* status = known ? &*known : &none;
  const std::string& key = check.key;
  if (key == "running") return count(check, status->running);
  if (key == "pending") return count(check, status->pending);
  if (key == "gpus_used") return gpus(check, status->gpus_used);
  return gpu_hours(check, status->gpu_time);
}

Measured measure_cluster(const engine::Engine& engine, const Check& check) {
  const ClusterStatus status = engine.cluster();
  const std::string& key = check.key;
  if (key == "running") return count(check, status.running);
  if (key == "pending") return count(check, status.pending);
  if (key == "gpus_used") return gpus(check, status.gpus_used);
  if (key == "gpus_free") return gpus(check, status.gpus_free);
  if (key == "gpus_healthy") return count(check, status.gpus_healthy);
  if (key == "evictions") return count(check, status.evictions);
  if (key == "gpu_hours") return gpu_hours(check, status.gpu_time);
  if (key == "gpu_hours_lost") return gpu_hours(check, status.gpu_time_lost);
  if (key == "cost") return money(check, status.cost);
  if (key == "cost_idle") return money(check, status.cost_idle);
  if (key == "largest_hole") return count(check, status.largest_hole);
  if (key == "occupancy") return ratio(check, {status.gpu_time, status.gpu_time_healthy});
  return ratio(check, {status.gpu_time_busy, status.gpu_time});
}

bool is_sum_key(const std::string& key) {
  return key == "running" || key == "pending" || key == "done" || key == "failed" ||
         key == "cancelled" || key == "evictions" || key == "gpu_hours" ||
         key == "gpu_hours_lost" || key == "cost";
}

Measured measure_sum(const engine::Engine& engine, const std::vector<JobId>& jobs,
                     const Check& check) {
  Int128 sum = 0;
  const std::string& key = check.key;
  for (const auto id : jobs) {
    const auto status = engine.job(id);
    if (!status) return missing(status.error());
    if (key == "evictions") {
      sum += status->evictions;
    } else if (key == "gpu_hours") {
      sum += status->gpu_time;
    } else if (key == "gpu_hours_lost") {
      sum += status->gpu_time_lost;
    } else if (key == "cost") {
      sum += status->cost;
    } else {
      sum += state_word(status->state) == key ? 1 : 0;
    }
  }
  if (key == "cost") return money(check, sum);
  if (key == "gpu_hours" || key == "gpu_hours_lost") return gpu_hours(check, sum);
  return count(check, static_cast<std::int64_t>(sum));
}

}  // namespace rota::sim
