#include "report/sentence.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "report/words.h"

namespace rota::report {

namespace {

std::string scope_words(ReasonScope scope) {
  switch (scope) {
    case ReasonScope::kNone: return "in one place";
    case ReasonScope::kDevice: return "on one GPU";
    case ReasonScope::kNode: return "on one node";
    case ReasonScope::kIsland: return "in one island";
    case ReasonScope::kSocket: return "at one socket";
    case ReasonScope::kRack: return "in one rack";
    case ReasonScope::kBlock: return "in one block";
    case ReasonScope::kModel: return "of one model";
  }
  return "";
}

/// Several amounts of one kind in a row: the unit stands with the first.
class Amounts {
 public:
  explicit Amounts(const Reason& reason) : reason_(reason) {}
  [[nodiscard]] std::string full(const std::optional<std::int64_t>& amount) const {
    return amount ? amount_words(reason_, *amount) : "an unknown amount";
  }
  [[nodiscard]] std::string bare(const std::optional<std::int64_t>& amount) const {
    if (!amount) return "none";
    const auto resource = reason_.resource;
    if (reason_.code == ReasonCode::kArrayLimit) return std::to_string(*amount);
    if (!resource || *resource == ReasonResource::kGpu) return format_gpus(MilliGpu(*amount));
    return amount_words(reason_, *amount);
  }

 private:
  const Reason& reason_;
};

std::string holder(const Reason& reason, const Wording& wording, std::string_view otherwise) {
  if (reason.by_job.valid()) return wording.job(reason.by_job);
  if (!reason.by.empty()) return reason.by;
  return std::string(otherwise);
}

std::string insufficient(const Reason& reason) {
  const Amounts amounts(reason);
  std::string text = "needs " + amounts.full(reason.need) + ", but ";
  const std::string free = amounts.bare(reason.free);
  text += reason.free.value_or(0) == 0 ? "none is free"
                                       : "only " + free + (free == "1" ? " is" : " are") + " free";
  if (reason.missing) text += " (short of " + amounts.bare(reason.missing) + ")";
  return text;
}

std::string fragmented(const Reason& reason) {
  const Amounts amounts(reason);
  std::string text = "needs " + amounts.full(reason.need) + " " + scope_words(reason.within);
  if (reason.best) {
    text += ", but the most free in one place is " + amounts.bare(reason.best);
  } else {
    text += ", and they are not free there";
  }
  if (reason.free) text += " (" + amounts.bare(reason.free) + " are free in all)";
  return text;
}

std::string infeasible(const Reason& reason) {
  if (!reason.detail.empty()) return "can never start here: " + reason.detail;
  const Amounts amounts(reason);
  std::string text = "can never start here: it needs " + amounts.full(reason.need);
  if (reason.within != ReasonScope::kNone) text += " " + scope_words(reason.within);
  text += reason.free.value_or(0) == 0
              ? ", and this cluster has none that it could use"
              : ", and the most this cluster could ever offer is " + amounts.bare(reason.free);
  return text;
}

std::string over_limit(const Reason& reason, const std::string& whose) {
  const Amounts amounts(reason);
  std::string text = whose;
  if (reason.limit) text += " of " + amounts.full(reason.limit);
  if (!reason.waiting_helps) {
    return text + " is less than the " + amounts.bare(reason.need) +
           " it needs: it can never start under it";
  }
  text += reason.free.value_or(0) == 0
              ? " is used up"
              : " leaves " + amounts.bare(reason.free) + ", and it needs " +
                    amounts.bare(reason.need);
  return text;
}

std::string array_limit(const Reason& reason) {
  if (reason.limit == 1) return "its array may run 1 member at once, and it is running";
  std::string text = "its array may run ";
  text += reason.limit ? counted(*reason.limit, "member") : "only so many members";
  return text + " at once, and they are running";
}

std::string quota_in_use(const Reason& reason, const Wording& wording) {
  std::string text = "its queue is owed the GPUs, but protected jobs hold them";
  if (reason.until) text += " until " + wording.instant(*reason.until);
  return text;
}

std::string out_of_use(const Reason& reason, std::string_view cause) {
  std::string text = "part of what it lacks is " + std::string(cause);
  if (!reason.detail.empty()) text += ": " + reason.detail;
  return text;
}

std::string reservation(const Reason& reason, const Wording& wording) {
  std::string text = "it fits, but would delay the start reserved for " +
                     holder(reason, wording, "an earlier job");
  if (reason.until) text += " at " + wording.instant(*reason.until);
  return text;
}

std::string with_detail(std::string text, const Reason& reason) {
  if (!reason.detail.empty()) text += ": " + reason.detail;
  return text;
}

std::string sentence_case(std::string text) {
  if (!text.empty()) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  }
  return text + ".";
}

}  // namespace

std::string amount_words(const Reason& reason, std::int64_t amount) {
  if (reason.code == ReasonCode::kArrayLimit) return counted(amount, "member");
  switch (reason.resource.value_or(ReasonResource::kGpu)) {
    case ReasonResource::kGpu: return gpu_words(MilliGpu(amount));
    case ReasonResource::kGpuMemory: return format_bytes(Bytes(amount)) + " of GPU memory";
    case ReasonResource::kCpu: return counted(amount, "CPU");
    case ReasonResource::kMemory: return format_bytes(Bytes(amount)) + " of memory";
    case ReasonResource::kSlices: return counted(amount, "slice");
  }
  return "";
}

std::string reason_sentence(const Reason& reason, const Wording& wording) {
  switch (reason.code) {
    case ReasonCode::kInsufficientFree: return with_detail(insufficient(reason), reason);
    case ReasonCode::kFragmented: return with_detail(fragmented(reason), reason);
    case ReasonCode::kInfeasible: return infeasible(reason);
    case ReasonCode::kQuotaInUse: return quota_in_use(reason, wording);
    case ReasonCode::kQueueLimit:
      return over_limit(reason, "the limit of queue " + holder(reason, wording, "its own"));
    case ReasonCode::kUserLimit:
      return over_limit(reason, "the limit of user " + holder(reason, wording, "its owner"));
    case ReasonCode::kArrayLimit: return array_limit(reason);
    case ReasonCode::kDependency:
      return with_detail("it waits for " + holder(reason, wording, "the jobs it depends on"),
                         reason);
    case ReasonCode::kDependencyNever:
      return with_detail("it depends on " + holder(reason, wording, "a job") +
                             ", and that can no longer be met", reason);
    case ReasonCode::kBeginTime:
      if (reason.until && !reason.detail.empty()) {
        return reason.detail + "; tried again at " + wording.instant(*reason.until);
      }
      return reason.until ? "it may not start before " + wording.instant(*reason.until)
                          : "its begin time has not come";
    case ReasonCode::kHeld: return "it is on hold; release it to let it start";
    case ReasonCode::kReservedFor: return reservation(reason, wording);
    case ReasonCode::kNoTimeLimit:
      return "it has no time limit; with one short enough it could start before " +
             holder(reason, wording, "the job that holds the reservation");
    case ReasonCode::kDrained: return out_of_use(reason, "on nodes that are being drained");
    case ReasonCode::kUnhealthy: return out_of_use(reason, "out of order");
    case ReasonCode::kForeignUse:
      return out_of_use(reason, "used by a process from outside");
    case ReasonCode::kDataLocality:
      return with_detail("it would fit at another site, but its data binds it here", reason);
    case ReasonCode::kBehind:
      return "it fits, but nothing may pass " + holder(reason, wording, "the job before it");
  }
  return "";
}

std::string reason_short(const Reason& reason, const Wording& wording) {
  const Amounts amounts(reason);
  switch (reason.code) {
    case ReasonCode::kInsufficientFree:
      return amounts.full(reason.need) + ", " + amounts.bare(reason.free) + " free";
    case ReasonCode::kFragmented:
      return amounts.full(reason.need) + " " + scope_words(reason.within) + ", best " +
             amounts.bare(reason.best);
    case ReasonCode::kInfeasible: return "can never start here";
    case ReasonCode::kQuotaInUse: return "quota in use";
    case ReasonCode::kQueueLimit: return "limit of queue " + holder(reason, wording, "its own");
    case ReasonCode::kUserLimit: return "limit of user " + holder(reason, wording, "its owner");
    case ReasonCode::kArrayLimit: return "limit of its array";
    case ReasonCode::kDependency: return "after " + holder(reason, wording, "other jobs");
    case ReasonCode::kDependencyNever: return "dependency never met";
    case ReasonCode::kBeginTime:
      return reason.until ? "not before " + wording.instant(*reason.until) : "begin time";
    case ReasonCode::kHeld: return "on hold";
    case ReasonCode::kReservedFor:
      return "reserved for " + holder(reason, wording, "an earlier job");
    case ReasonCode::kNoTimeLimit: return "no time limit";
    case ReasonCode::kDrained: return "nodes draining";
    case ReasonCode::kUnhealthy: return "GPUs out of order";
    case ReasonCode::kForeignUse: return "GPUs used from outside";
    case ReasonCode::kDataLocality: return "fits at another site";
    case ReasonCode::kBehind: return "behind " + holder(reason, wording, "an earlier job");
  }
  return "";
}

std::string exit_words(const JobFacts& facts) {
  std::string text;
  if (facts.signal.value_or(0) > 0) {
    text = "signal " + std::to_string(*facts.signal);
  } else if (facts.exit_code) {
    text = "exit code " + std::to_string(*facts.exit_code);
  }
  if (facts.detail.empty()) return text;
  return text.empty() ? facts.detail : text + " (" + facts.detail + ")";
}

namespace {

/// "It failed: exit code 3." Without facts: `otherwise`.
std::string failure(const JobFacts& facts, std::string_view otherwise) {
  const std::string how = exit_words(facts);
  return "It failed: " + (how.empty() ? std::string(otherwise) : how) + ".";
}

/// Why a finished job ended so.
std::string end_sentence(const Verdict& verdict, const JobFacts& facts) {
  const std::string& cause = verdict.end_cause;
  if (verdict.state == JobState::kDone) return "It ended by itself, without an error.";
  if (verdict.state == JobState::kTimeout) {
    return facts.time_limit
               ? "It reached its time limit of " + short_duration(*facts.time_limit) + "."
               : "It reached its time limit.";
  }
  if (cause == "session_idle") {
    return "The session was idle for too long and was ended to free its GPUs.";
  }
  if (cause == "dependency_never") {
    return "It was cancelled: a job it depended on did not end as needed.";
  }
  if (cause == "infeasible") return "It was refused: this cluster could never run it.";
  if (cause == "app_fault") return "It failed: its GPU reported an error of the application.";
  if (cause == "lost") return "It failed: its processes vanished again and again.";
  if (cause == "launch_failed") return failure(facts, "it could not be launched");
  if (verdict.state == JobState::kFailed) {
    return failure(facts, "its processes ended with an error");
  }
  if (cause.empty() || cause == "cancelled") return "It was cancelled.";
  return "It was cancelled (" + cause + ").";
}

/// Where and since when; until when it is safe, and when its time is over.
std::string running_sentence(const Verdict& verdict, const JobFacts& facts,
                             const Wording& wording) {
  std::string text = verdict.state == JobState::kStopping   ? "It is being stopped"
                     : verdict.state == JobState::kStarting ? "It is being started"
                                                            : "It is running";
  if (!facts.where.empty()) text += " on " + facts.where;
  if (facts.started) text += " since " + wording.instant(*facts.started);
  if (facts.is_always_protected) {
    text += "; it is never preempted";
  } else if (facts.contract_ends) {
    text += "; protected until " + wording.instant(*facts.contract_ends);
  }
  if (facts.limit_ends) {
    text += "; its time limit";
    if (facts.time_limit) text += " of " + short_duration(*facts.time_limit);
    text += " ends it at " + wording.instant(*facts.limit_ends);
  }
  return text + ".";
}

}  // namespace

std::string summary_sentence(const Verdict& verdict, const JobFacts& facts,
                             const Wording& wording) {
  if (is_final(verdict.state)) return end_sentence(verdict, facts);
  if (verdict.state != JobState::kPending) return running_sentence(verdict, facts, wording);
  if (verdict.reasons.empty()) return "It waits for the next scheduling cycle.";
  return sentence_case(reason_sentence(verdict.reasons.front(), wording));
}

std::string eviction_sentence(const Verdict& verdict, const Wording& wording) {
  std::string text;
  if (verdict.evicted_by.valid()) {
    text = "It was last stopped to make room for " + wording.job(verdict.evicted_by);
  } else if (verdict.evicted_cause == "drain") {
    text = "It was last stopped because its node was drained";
  } else if (verdict.evicted_cause == "quarantine") {
    text = "It was last stopped because its node was put in quarantine";
  } else if (!verdict.evicted_cause.empty()) {
    text = "It was last stopped (" + verdict.evicted_cause + ")";
  }
  if (text.empty()) return text;
  if (!verdict.tie_rule.empty()) text += "; the tie among the candidates was broken by: " +
                                         verdict.tie_rule;
  return text + ".";
}

std::vector<std::string> explain_sentences(const Verdict& verdict, const Wording& wording) {
  std::vector<std::string> sentences{summary_sentence(verdict, {}, wording)};
  if (verdict.state == JobState::kPending) {
    for (std::size_t i = 1; i < verdict.reasons.size(); ++i) {
      sentences.push_back(sentence_case(reason_sentence(verdict.reasons[i], wording)));
    }
    if (verdict.ahead > 0) {
      sentences.push_back(counted(verdict.ahead, "waiting job comes", "waiting jobs come") +
                          " before it.");
    }
    if (verdict.estimate) {
      sentences.push_back("Expected to start at " + wording.instant(*verdict.estimate) + ".");
    }
  }
  const auto eviction = eviction_sentence(verdict, wording);
  if (!eviction.empty()) sentences.push_back(eviction);
  return sentences;
}

namespace {

/// "1 GPU more frees up", "2 GPUs more free up"; memory is one amount.
std::string more_free_up(const Reason& reason) {
  const std::int64_t amount = reason.missing.value_or(0);
  bool several = false;
  switch (reason.resource.value_or(ReasonResource::kGpu)) {
    case ReasonResource::kGpu: several = amount > 1000; break;
    case ReasonResource::kCpu:
    case ReasonResource::kSlices: several = amount > 1; break;
    case ReasonResource::kGpuMemory:
    case ReasonResource::kMemory: break;
  }
  return several ? " more free up" : " more frees up";
}

/// A limit holds the job back: what is free helps nothing.
bool is_limited(const Verdict& verdict) {
  return std::any_of(verdict.reasons.begin(), verdict.reasons.end(), [](const Reason& reason) {
    return reason.code == ReasonCode::kArrayLimit || reason.code == ReasonCode::kQueueLimit ||
           reason.code == ReasonCode::kUserLimit;
  });
}

std::string help_of(const Reason& reason, const Wording& wording) {
  const Amounts amounts(reason);
  switch (reason.code) {
    case ReasonCode::kInsufficientFree:
      return reason.missing && reason.waiting_helps
                 ? "starts if " + amounts.full(reason.missing) + more_free_up(reason)
                 : "";
    case ReasonCode::kFragmented:
      return reason.missing ? "starts if " + amounts.full(reason.missing) +
                                  more_free_up(reason) + " " + scope_words(reason.within)
                            : "";
    case ReasonCode::kInfeasible:
      return reason.free.value_or(0) > 0
                 ? "could start if it asked for at most " + amounts.full(reason.free)
                 : "";
    case ReasonCode::kQuotaInUse:
      return reason.until ? "starts at " + wording.instant(*reason.until) +
                                ", when the first contract ends that lets it in"
                          : "";
    case ReasonCode::kQueueLimit:
    case ReasonCode::kUserLimit:
      if (!reason.waiting_helps) {
        return "could start if the limit were raised, or if it asked for at most " +
               amounts.full(reason.limit);
      }
      return reason.missing ? "starts if " + amounts.full(reason.missing) +
                                  " less are used under that limit, or the limit is raised"
                            : "";
    case ReasonCode::kHeld: return "starts after a release";
    case ReasonCode::kNoTimeLimit: return "could start sooner with a time limit";
    case ReasonCode::kDrained: return "could start if those nodes were taken back into use";
    case ReasonCode::kForeignUse: return "starts if the process from outside ends";
    default: return "";
  }
}

}  // namespace

std::vector<std::string> help_sentences(const Verdict& verdict, const Wording& wording) {
  std::vector<std::string> sentences;
  if (verdict.state != JobState::kPending) return sentences;
  const bool limited = is_limited(verdict);
  for (const auto& reason : verdict.reasons) {
    const bool about_room = reason.code == ReasonCode::kInsufficientFree ||
                            reason.code == ReasonCode::kFragmented;
    if (limited && about_room) continue;
    const auto help = help_of(reason, wording);
    if (!help.empty()) sentences.push_back("It " + help + ".");
  }
  return sentences;
}

std::string explain_paragraph(const Verdict& verdict, const Wording& wording) {
  auto sentences = explain_sentences(verdict, wording);
  for (auto& help : help_sentences(verdict, wording)) sentences.push_back(std::move(help));
  return join(sentences, " ");
}

}  // namespace rota::report
