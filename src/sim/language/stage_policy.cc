// `policy` lines.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "sim/language/stage.h"

namespace rota::sim {

namespace {

const std::vector<std::string>& policy_keys() {
  static const std::vector<std::string> kKeys{
      "order",   "fairness", "backfill",         "placement",        "reclaim",
      "consolidation",
      "grace",   "retries",  "min_runtime_max",  "retry_on",         "quarantine_after",
      "infeasible",          "dependency_never", "session_idle_warn", "session_idle_end",
      "spill",   "cpus_reserved_per_gpu"};
  return kKeys;
}

/// `instant`, `window:7d`, `half_life:7d`.
void read_fairness(const Reader& reader, Policy& policy) {
  const Argument* argument = reader.find("fairness");
  if (argument == nullptr) return;
  const std::string_view text = argument->value;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool has_span = colon != std::string_view::npos;
  if (kind == "instant" && !has_span) {
    policy.fairness = FairnessKind::kInstant;
    return;
  }
  if ((kind == "window" || kind == "half_life") && has_span) {
    const auto span = parse_duration(text.substr(colon + 1));
    if (!span || *span <= Duration{}) {
      reader.error(*argument, "fairness: " + (span ? quoted(text.substr(colon + 1)) +
                                                         " is not a duration above 0s"
                                                   : span.error().message));
      return;
    }
    policy.fairness = kind == "window" ? FairnessKind::kWindow : FairnessKind::kHalfLife;
    policy.fairness_span = *span;
    return;
  }
  reader.error(*argument, unknown_word("value of 'fairness'", text,
                                       {"instant", "window:7d", "half_life:7d"}));
}

std::optional<Duration> read_idle(const Reader& reader, std::string_view key,
                                  std::optional<Duration> before) {
  const Argument* argument = reader.find(key);
  if (argument == nullptr) return before;
  if (argument->value == "off") return std::nullopt;
  return reader.positive_duration(key);
}

void read_choices(const Reader& reader, Policy& policy) {
  // `shortest` needs the true runtimes and belongs to replays alone.
  constexpr std::array<Order, 3> kOrders{Order::kFair, Order::kPriority, Order::kFifo};
  if (const auto i = reader.choice_index("order", {"fair", "priority", "fifo"})) {
    policy.order = kOrders[*i];
  }
  if (const auto v = reader.choice<Backfill>("backfill")) policy.backfill = *v;
  if (const auto v = reader.choice<Placement>("placement")) policy.placement = *v;
  if (const auto v = reader.choice<Reclaim>("reclaim")) policy.reclaim = *v;
  if (const auto v = reader.choice<Consolidation>("consolidation")) policy.consolidation = *v;
  if (const auto v = reader.choice<RetryOn>("retry_on")) policy.retry_on = *v;
  if (const auto v = reader.choice<Infeasible>("infeasible")) policy.infeasible = *v;
  if (const auto v = reader.choice<DependencyNever>("dependency_never")) {
    policy.dependency_never = *v;
  }
  if (const auto v = reader.choice<Spill>("spill")) policy.spill = *v;
}

void read_numbers(const Reader& reader, Policy& policy) {
  if (const auto v = reader.duration("min_runtime_max")) policy.min_runtime_max = *v;
  if (const auto v = reader.duration("grace")) policy.grace = *v;
  if (const auto v = reader.integer("retries", {0, 1'000'000})) policy.retries = *v;
  if (const Argument* argument = reader.find("quarantine_after"); argument != nullptr) {
    if (argument->value == "off") {
      policy.quarantine_after = std::nullopt;
    } else if (const auto v = reader.integer("quarantine_after", {1, 1'000'000})) {
      policy.quarantine_after = *v;
    }
  }
  if (const auto v = reader.integer("cpus_reserved_per_gpu", {0, 1'000'000})) {
    policy.cpus_reserved_per_gpu = *v;
  }
  policy.session_idle_warn = read_idle(reader, "session_idle_warn", policy.session_idle_warn);
  policy.session_idle_end = read_idle(reader, "session_idle_end", policy.session_idle_end);
}

}  // namespace

std::optional<StatementBody> read_policy(const Reader& reader) {
  const auto& keys = policy_keys();
  reader.check_keys(keys);
  if (!reader.line().words.empty()) {
    reader.error_at(reader.line().words[0].column,
                    "expected key=value, found " + quoted(reader.line().words[0].text));
    return std::nullopt;
  }
  ParseState& state = reader.state();
  for (const Argument& argument : reader.line().arguments) {
    const auto found = std::find(keys.begin(), keys.end(), argument.key);
    if (found == keys.end() || reader.find(argument.key) != &argument) continue;
    bool& seen = state.policy_seen[static_cast<std::size_t>(found - keys.begin())];
    if (seen) {
      reader.error_at(argument.column, "policy " + quoted(argument.key) + " is set twice");
    }
    seen = true;
  }
  if (state.scenario.policy_line == 0) state.scenario.policy_line = reader.line().number;
  read_fairness(reader, state.scenario.policy);
  read_choices(reader, state.scenario.policy);
  read_numbers(reader, state.scenario.policy);
  return std::nullopt;
}

}  // namespace rota::sim
