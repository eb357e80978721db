#include "cli/whatif_changes.h"

#include <algorithm>

#include "base/text.h"
#include "cli/offline.h"
#include "cli/usage.h"
#include "model/fields.h"
#include "server/config.h"
#include "sim/resize.h"

namespace rota::cli {
namespace {

using sim::Setup;

Error bad_change(const Change& change, const std::string& expected) {
  return usage_error("change '" + change.text() + "': expected " + expected);
}

template <class E>
Status set_word(const Change& change, E& out) {
  const auto value = enum_from<E>(change.value);
  const auto names = names_of(E{});
  const std::vector<std::string> known(names.begin(), names.end());
  if (!value) {
    const std::string_view near = nearest_word(change.value, known);
    return bad_change(change, join(known, ", ") +
                                  (near.empty() ? "" : " (did you mean '" + std::string(near) +
                                                           "'?)"));
  }
  out = *value;
  return {};
}

enum class Least { kZero, kMore };

Result<Duration> span_from(const Change& change, Least least) {
  const auto span = parse_duration(change.value);
  if (!span || *span < Duration() || (least == Least::kMore && *span == Duration())) {
    return bad_change(change, "a duration like 30s or 2h");
  }
  return *span;
}

Status set_span(const Change& change, Least least, Duration& out) {
  const auto span = span_from(change, least);
  if (!span) return span.error();
  out = *span;
  return {};
}

/// `none`, or a duration.
Status set_optional_span(const Change& change, std::optional<Duration>& out) {
  if (change.value == "none") {
    out.reset();
    return {};
  }
  const auto span = span_from(change, Least::kMore);
  if (!span) return bad_change(change, "a duration like 30m, or none");
  out = *span;
  return {};
}

Status set_fairness(const Change& change, Policy& policy) {
  const std::size_t colon = change.value.find(':');
  const auto kind = enum_from<FairnessKind>(change.value.substr(0, colon));
  const bool has_span = colon != std::string::npos;
  const auto span = has_span ? parse_duration(change.value.substr(colon + 1)) : Duration();
  if (!kind || !span || has_span != (*kind != FairnessKind::kInstant) ||
      (has_span && *span <= Duration())) {
    return bad_change(change, "instant, window:7d or half_life:7d");
  }
  policy.order = Order::kFair;
  policy.fairness = *kind;
  policy.fairness_span = *span;
  return {};
}

struct Amount {
  char sign = '=';  // '+', '-' or '='
  std::string rest;
};

Amount amount_of(const std::string& value) {
  const bool has_sign = !value.empty() && (value[0] == '+' || value[0] == '-');
  return {has_sign ? value[0] : '=', has_sign ? value.substr(1) : value};
}

/// What follows the first colon; `text` keeps what stands before it.
std::string cut_model(std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {};
  std::string model = text.substr(colon + 1);
  text.resize(colon);
  return model;
}

constexpr std::int64_t kGpusMost = 1'000'000;

Status change_gpus(const Change& change, Setup& setup) {
  Amount amount = amount_of(change.value);
  const std::string model = cut_model(amount.rest);
  const auto number = parse_int(amount.rest);
  const std::int64_t now = sim::gpus_of(setup.nodes);
  if (!number || *number < 1 || *number > kGpusMost || (amount.sign == '=' && !model.empty())) {
    return bad_change(change, "GPUs to add (+16, +16:h100), to take (-8), or in all (256)");
  }
  const std::int64_t by = amount.sign == '=' ? *number - now
                          : amount.sign == '+' ? *number
                                               : -*number;
  if (now + by > kGpusMost) return bad_change(change, "at most 1,000,000 GPUs in all");
  if (by >= 0) {
    sim::add_gpus(setup.nodes, by, sim::usual_kind(setup.nodes, model));
    return {};
  }
  if (sim::take_gpus(setup.nodes, -by, model) < -by || setup.nodes.empty()) {
    return bad_change(change, "to leave some: there are " + std::to_string(now) + " GPUs" +
                                  (model.empty() ? "" : ", not all of them " + model));
  }
  return {};
}

/// `+4x8:h100`, `+4`, `-2`, `48`.
Status change_nodes(const Change& change, Setup& setup) {
  Amount amount = amount_of(change.value);
  const std::string model = cut_model(amount.rest);
  const std::size_t cross = amount.rest.find('x');
  const auto count = parse_int(std::string_view(amount.rest).substr(0, cross));
  sim::NodeKind kind = sim::usual_kind(setup.nodes, model);
  const Error wrong = bad_change(
      change, "nodes to add (+4, +4x8, +4x8:h100), to take (-2), or in all (48)");
  if (!count || *count < 1) return wrong;
  if (cross != std::string::npos) {
    const auto gpus = parse_int(std::string_view(amount.rest).substr(cross + 1));
    if (!gpus || *gpus < 1 || *gpus > kGpusMost) return wrong;
    kind.gpus = *gpus;
    if (model.empty()) kind.model = sim::usual_kind(setup.nodes, "").model;
  }
  if (*count > kGpusMost / kind.gpus) return bad_change(change, "at most 1,000,000 GPUs in all");
  if (amount.sign == '+') {
    sim::add_nodes(setup.nodes, *count, kind);
    return {};
  }
  if (cross != std::string::npos || !model.empty()) return wrong;
  const std::int64_t now = std::ssize(setup.nodes);
  const std::int64_t wanted = amount.sign == '-' ? now - *count : *count;
  if (wanted < 1) {
    return bad_change(change, "to leave some: there are " + std::to_string(now) + " nodes");
  }
  setup.nodes = sim::with_node_count(setup.nodes, wanted);
  return {};
}

Status change_cluster(const Change& change, Setup& setup) {
  auto nodes = cluster_of(change.value);
  if (!nodes) return bad_change(change, "a cluster: " + nodes.error().message);
  setup.nodes = std::move(*nodes);
  return {};
}

/// `a=3:b=2`.
Status change_weights(const Change& change, Setup& setup) {
  for (const std::string_view part : split(change.value, ':')) {
    const std::size_t equals = part.rfind('=');
    const auto weight =
        parse_int(equals == std::string_view::npos ? "" : part.substr(equals + 1));
    if (equals == 0 || !weight || *weight < 0 || *weight > 1'000'000) {
      return bad_change(change, "team=WEIGHT:team=WEIGHT, like weights=vision=3:speech=1");
    }
    setup.shares[std::string(part.substr(0, equals))].weight = *weight;
  }
  return {};
}

/// `team:16`.
Status change_bound(const Change& change, Setup& setup) {
  const std::size_t colon = change.value.rfind(':');
  const auto gpus =
      colon == std::string::npos ? parse_gpus("") : parse_gpus(change.value.substr(colon + 1));
  if (colon == 0 || !gpus || *gpus < MilliGpu()) {
    return bad_change(change, "TEAM:GPUS, like " + std::string(name_of(change.key)) +
                                  "=vision:16");
  }
  sim::Share& share = setup.shares[change.value.substr(0, colon)];
  (change.key == ChangeKey::kQuota ? share.quota : share.limit) = *gpus;
  return {};
}

sim::ShortClass& short_class_of(Setup& setup) {
  if (!setup.short_class) setup.short_class.emplace();
  return *setup.short_class;
}

/// `1:15m`: GPUs and run time up to which a job is short.
Status change_debug(const Change& change, Setup& setup) {
  const std::size_t colon = change.value.find(':');
  const auto gpus = parse_gpus(change.value.substr(0, colon));
  const auto span =
      parse_duration(colon == std::string::npos ? "" : change.value.substr(colon + 1));
  if (!gpus || *gpus <= MilliGpu() || !span || *span <= Duration()) {
    return bad_change(change, "GPUS:TIME, like debug=1:15m");
  }
  sim::ShortClass& rule = short_class_of(setup);
  rule.milli_max = gpus->value();
  rule.runtime_max = *span;
  return {};
}

Status change_debug_gpus(const Change& change, Setup& setup) {
  const auto gpus = parse_int(change.value);
  if (!gpus || *gpus < 0 || *gpus >= sim::gpus_of(setup.nodes)) {
    return bad_change(change, "a number of GPUs below those of the cluster");
  }
  short_class_of(setup).gpus_kept = *gpus;
  return {};
}

Status change_permille(const Change& change, std::int64_t least, std::int64_t& out) {
  const auto value = parse_fixed(change.value, 3);
  if (!value || *value < least || *value > 1'000'000) {
    return bad_change(change, "a number like 0.2 or 1.5");
  }
  out = *value;
  return {};
}

Status change_passes(const Change& change, Setup& setup) {
  if (!setup.passes) {
    return usage_error("change '" + change.text() + "': only a policy with passes at times of its "
                       "own has that; put policy=slurm-like before it");
  }
  sim::PassTimes& passes = *setup.passes;
  switch (change.key) {
    case ChangeKey::kMainEvery: return set_span(change, Least::kMore, passes.short_every);
    case ChangeKey::kMainAfter: return set_span(change, Least::kZero, passes.after_event);
    case ChangeKey::kBackfillEvery: return set_span(change, Least::kMore, passes.long_every);
    case ChangeKey::kLaunch: return set_span(change, Least::kZero, passes.launch);
    default: return set_span(change, Least::kZero, passes.release);
  }
}

Status change_backfill(const Change& change, Setup& setup) {
  return set_word(change, setup.passes ? setup.passes->in_long : setup.policy.backfill);
}

Status change_contract(const Change& change, Setup& setup) {
  if (auto status = set_optional_span(change, setup.contract); !status) return status;
  if (setup.contract) {
    setup.policy.min_runtime_max = std::max(setup.policy.min_runtime_max, *setup.contract);
  }
  return {};
}

Status change_owners(const Change& change, Setup& setup) {
  switch (change.key) {
    case ChangeKey::kWeights: return change_weights(change, setup);
    case ChangeKey::kQuota:
    case ChangeKey::kLimit: return change_bound(change, setup);
    case ChangeKey::kDebug: return change_debug(change, setup);
    case ChangeKey::kDebugGpus: return change_debug_gpus(change, setup);
    default: return change_permille(change, 1, short_class_of(setup).part_milli);
  }
}

Status apply_config(const std::string& file, Setup& setup) {
  const auto config = server::load_config(file);
  if (!config) return config.error();
  setup.policy = config->policy;
  setup.passes.reset();
  setup.queues = config->queues;
  setup.contract = config->min_runtime_default;
  setup.priorities = config->policy.order == Order::kPriority ? sim::Priorities::kOfHistory
                                                              : sim::Priorities::kNone;
  setup.classes.clear();
  for (const server::ClassConfig& c : config->classes) {
    setup.classes.push_back({.name = c.name, .min_runtime = c.min_runtime,
                             .protect_all = c.protect_all.value_or(false),
                             .charge = c.charge.value_or(true),
                             .priority = c.priority.value_or(0), .checkpoint = c.checkpoint});
  }
  return {};
}

}  // namespace

std::string Change::text() const { return std::string(name_of(key)) + "=" + value; }

Result<Change> parse_change(const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto names = names_of(ChangeKey{});
  const std::vector<std::string> known(names.begin(), names.end());
  if (equals == std::string::npos) {
    return usage_error(option + " '" + text + "': expected KEY=VALUE with one of " +
                       join(known, ", "));
  }
  const std::string key = text.substr(0, equals);
  const auto found = enum_from<ChangeKey>(key);
  if (!found) {
    const std::string_view near = nearest_word(key, known);
    return usage_error(option + " '" + text + "': unknown key '" + key + "'" +
                       (near.empty() ? "; expected one of " + join(known, ", ")
                                     : " (did you mean '" + std::string(near) + "'?)"));
  }
  return Change{*found, text.substr(equals + 1)};
}

Status apply_policy(const std::string& option, const std::string& text, Setup& setup) {
  if (const auto rules = enum_from<sim::Rules>(text)) {
    sim::set_rules(setup, *rules);
    return {};
  }
  if (text.ends_with(".yaml") || text.ends_with(".yml") || text.find('/') != std::string::npos) {
    auto status = apply_config(text, setup);
    if (!status) return usage_error(option + ": " + status.error().message, status.error().where);
    return {};
  }
  const auto names = names_of(sim::Rules{});
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string_view near = nearest_word(text, known);
  return usage_error(option + ": unknown policy '" + text + "'; expected " + join(known, ", ") +
                     ", or a file like rota.yaml" +
                     (near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)"));
}

Status apply_policy_list(const std::string& option, const std::string& text, Setup& setup) {
  bool first = true;
  for (const std::string_view part : split(text, ',')) {
    if (first) {
      if (auto status = apply_policy(option, std::string(part), setup); !status) return status;
      first = false;
      continue;
    }
    const auto change = parse_change(option, std::string(part));
    if (!change) return change.error();
    if (auto status = apply_change(*change, setup); !status) return status;
  }
  return {};
}

Status apply_change(const Change& change, Setup& setup) {
  switch (change.key) {
    case ChangeKey::kPolicy: return apply_policy("change '" + change.text() + "'", change.value,
                                                 setup);
    case ChangeKey::kOrder: return set_word(change, setup.policy.order);
    case ChangeKey::kFairness: return set_fairness(change, setup.policy);
    case ChangeKey::kBackfill: return change_backfill(change, setup);
    case ChangeKey::kPlacement: return set_word(change, setup.policy.placement);
    case ChangeKey::kReclaim: return set_word(change, setup.policy.reclaim);
    case ChangeKey::kSpill: return set_word(change, setup.policy.spill);
    case ChangeKey::kGpus: return change_gpus(change, setup);
    case ChangeKey::kNodes: return change_nodes(change, setup);
    case ChangeKey::kOn: return change_cluster(change, setup);
    case ChangeKey::kContract: return change_contract(change, setup);
    case ChangeKey::kGrace: return set_span(change, Least::kZero, setup.policy.grace);
    case ChangeKey::kCheckpoint: return set_optional_span(change, setup.checkpoint);
    case ChangeKey::kTimeLimitFactor: return change_permille(change, 1, setup.limit_permille);
    case ChangeKey::kReaction: return change_permille(change, 0, setup.reaction_permille);
    case ChangeKey::kWeights:
    case ChangeKey::kQuota:
    case ChangeKey::kLimit:
    case ChangeKey::kDebug:
    case ChangeKey::kDebugGpus:
    case ChangeKey::kDebugWeight: return change_owners(change, setup);
    case ChangeKey::kMainEvery:
    case ChangeKey::kMainAfter:
    case ChangeKey::kBackfillEvery:
    case ChangeKey::kLaunch:
    case ChangeKey::kRelease: return change_passes(change, setup);
  }
  return {};
}

}  // namespace rota::cli
