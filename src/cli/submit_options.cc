#include "cli/submit_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace rota::cli {
namespace {

std::string upper_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    out += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return out;
}

bool is_false(std::string_view text) {
  return text == "0" || text == "no" || text == "false" || text == "off";
}

/// "a100_3g.20gb" is a MIG profile of a model; "3g.20gb" one of any model.
bool is_mig_profile(std::string_view text) {
  const std::size_t g = text.find("g.");
  return g != std::string_view::npos && g >= 1 && text[g - 1] >= '1' && text[g - 1] <= '7' &&
         text.ends_with("gb");
}

Error option_error(const OptionUse& use, std::string_view rule) {
  return {ErrorCode::kInvalidArgument, "--" + std::string(use.option->name) + " '" + use.value +
                                           "': " + std::string(rule)};
}

void wish(Draft& draft, DeviceWish found, const OptionUse& use) {
  found.source = use.source;
  found.option = "--" + std::string(use.option->name);
  draft.devices = std::move(found);
}

Status wish_for_mig(Draft& draft, const OptionUse& use, std::string_view type,
                    std::string_view count) {
  if (count != "1" && !count.empty()) {
    return option_error(use, "a task can have one MIG instance; use more tasks instead");
  }
  DeviceWish found;
  found.kind = DeviceWish::Kind::kMig;
  const std::size_t line = type.find('_');
  if (line != std::string_view::npos) {
    draft.request.models = {std::string(type.substr(0, line))};
    type.remove_prefix(line + 1);
  }
  found.mig = type;
  wish(draft, std::move(found), use);
  return {};
}

}  // namespace

std::span<const SubmitOption> submit_options() {
  static const std::vector<SubmitOption> kOptions = [] {
    std::vector<SubmitOption> all = rota_options();
    const std::vector<SubmitOption> more = slurm_options();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return kOptions;
}

const SubmitOption* find_option(std::string_view name, unsigned places) {
  for (const SubmitOption& option : submit_options()) {
    if (option.name == name && (option.places & places) != 0) return &option;
  }
  return nullptr;
}

const SubmitOption* find_option(char letter, unsigned places) {
  for (const SubmitOption& option : submit_options()) {
    if (option.letter == letter && letter != 0 && (option.places & places) != 0) return &option;
  }
  return nullptr;
}

std::string unknown_option_text(std::string_view spelled, unsigned places) {
  std::vector<std::string> names;
  for (const SubmitOption& option : submit_options()) {
    if ((option.places & places) != 0) names.emplace_back(option.name);
  }
  std::string text = "unknown option '" + std::string(spelled) + "'";
  std::string_view bare = spelled;
  while (bare.starts_with("-")) bare.remove_prefix(1);
  bare = bare.substr(0, bare.find('='));
  const std::string_view near = bare.size() > 1 ? nearest_word(bare, names) : std::string_view();
  if (!near.empty()) text += "; did you mean '--" + std::string(near) + "'?";
  return text;
}

Status apply_uses(const std::vector<OptionUse>& uses, Draft& draft, const Context& context) {
  for (OptionUse use : uses) {
    const auto said = draft.said.find(use.option->name);
    use.first = said == draft.said.end() || said->second != use.source;
    draft.said[use.option->name] = use.source;
    draft.places[use.option->name] = use.where;
    if (Status status = use.option->apply(draft, use, context); !status) {
      Error error = status.error();
      if (error.where.empty()) error.where = use.where;
      return error;
    }
  }
  return {};
}

std::vector<OptionUse> uses_of_environment(const Context& context) {
  const bool in_job = context.variable("ROTA_JOB_ID").has_value();
  std::vector<OptionUse> uses;
  const auto look = [&](const SubmitOption& option, const std::string& name) {
    const auto value = context.variable(name);
    if (!value) return;
    if (option.takes == Takes::kNothing && is_false(*value)) return;
    const std::string given = option.takes == Takes::kNothing ? std::string() : *value;
    uses.push_back({&option, given, Source::kEnvironment, true, name});
  };
  for (const SubmitOption& option : submit_options()) {
    const std::string name = upper_name(option.name);
    if ((option.places & kInSbatch) != 0) {
      look(option, option.variable.empty() ? "SBATCH_" + name : std::string(option.variable));
    }
    if (!in_job && (option.places & kInRota) != 0) look(option, "ROTA_" + name);
  }
  return uses;
}

Status apply_gpus(Draft& draft, const OptionUse& use, DeviceWish::Kind plain_kind) {
  std::string_view text = use.value;
  DeviceWish found;
  found.kind = plain_kind;
  if (const auto slash = text.rfind('/'); slash != std::string_view::npos) {
    const std::string_view per = text.substr(slash + 1);
    if (per == "node" || per == "task") {
      found.kind = DeviceWish::Kind::kPerTask;
    } else if (per == "job") {
      found.kind = DeviceWish::Kind::kPerJob;
    } else {
      return option_error(use, "after the slash stands node, task or job");
    }
    text = text.substr(0, slash);
  }
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    const std::string_view type = text.substr(0, colon);
    if (type.empty()) return option_error(use, "expected TYPE:NUMBER, like h100:2");
    if (is_mig_profile(type)) return wish_for_mig(draft, use, type, text.substr(colon + 1));
    draft.request.models = {std::string(type)};
    text = text.substr(colon + 1);
  } else if (is_mig_profile(text)) {
    return wish_for_mig(draft, use, text, {});
  }
  const auto gpus = parse_gpus(text);
  if (!gpus || *gpus < MilliGpu() || *gpus > whole_gpus(1'000'000)) {
    return option_error(use, "expected a number of GPUs: 2, 0.5, h100:2 or 8/node");
  }
  if (gpus->value() > 1000 && gpus->value() % 1000 != 0) {
    return option_error(use, "above one, GPUs are given whole: write " +
                                 std::to_string(gpus->value() / 1000 + 1));
  }
  found.gpus = *gpus;
  wish(draft, std::move(found), use);
  return {};
}

void add_to_list(std::vector<std::string>& list, const OptionUse& use) {
  if (use.first) list.clear();
  for (const std::string_view part : split(use.value, ',')) {
    if (!part.empty()) list.emplace_back(part);
  }
}

Result<std::int64_t> number_of(const OptionUse& use, std::int64_t low, std::int64_t high) {
  const auto number = parse_int(use.value);
  if (number && *number >= low && *number <= high) return *number;
  return option_error(use, "expected a whole number from " + std::to_string(low) + " to " +
                               std::to_string(high));
}

}  // namespace rota::cli
