// Options that only sbatch spells so: each is carried out, accepted with a warning where Rota has
// nothing to do, or refused by name with what to write instead. Spelling and meaning follow
// sbatch's manual page of Slurm 22.05.
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cli/submit_options.h"
#include "cli/time_text.h"

namespace rota::cli {
namespace {

using Use = const OptionUse&;
using World = const Context&;
using R = api::SubmitRequest;

constexpr std::string_view kSlurm = "As sbatch spells it (also in #SBATCH lines)";
constexpr std::string_view kRefused = "Refused by name";
constexpr Takes kFlag = Takes::kNothing;
constexpr Takes kOne = Takes::kValue;
constexpr Takes kMaybe = Takes::kOptionalValue;

Error bad(Use use, std::string_view rule) {
  return {ErrorCode::kInvalidArgument,
          "--" + std::string(use.option->name) + " '" + use.value + "': " + std::string(rule)};
}

void warn(Draft& draft, Use use, std::string_view text) {
  draft.warnings.push_back("--" + std::string(use.option->name) + ": " + std::string(text));
}

template <std::string R::* kField>
Status set_text(Draft& draft, Use use, World) {
  draft.request.*kField = use.value;
  return {};
}

template <std::optional<std::int64_t> Draft::* kField>
Status set_count(Draft& draft, Use use, World) {
  const auto number = number_of(use, 1, 1'000'000);
  if (!number) return number.error();
  draft.*kField = *number;
  return {};
}

Status set_gpus_per_node(Draft& draft, Use use, World) {
  return apply_gpus(draft, use, DeviceWish::Kind::kPerTask);
}

/// Where a script says both, the count per node stands.
Status set_gpus_per_process(Draft& draft, Use use, World) {
  const DeviceWish before = draft.devices;
  if (auto status = apply_gpus(draft, use, DeviceWish::Kind::kPerProcess); !status) return status;
  if (before.source == use.source && before.kind == DeviceWish::Kind::kPerTask) {
    draft.devices = before;
  }
  return {};
}

/// `gpu[:type][:n]`, `shard:n`, `mps:n` (hundredths of a GPU), comma-separated.
Status set_gres(Draft& draft, Use use, World world) {
  if (use.value == "none") return {};
  for (const std::string_view part : split(use.value, ',')) {
    const std::vector<std::string_view> words = split(part, ':');
    OptionUse one = use;
    if (words[0] == "gpu" && words.size() <= 3) {
      one.value = words.size() == 1 ? "1" : std::string(part.substr(4));
      const bool type_alone = words.size() == 2 && !parse_int(words[1]);
      if (type_alone) one.value += ":1";
      if (auto status = set_gpus_per_node(draft, one, world); !status) return status;
      continue;
    }
    const auto number = words.size() == 2 ? parse_int(words[1]) : parse_int("1");
    if (!number || *number < 1 || *number > 100'000 || words.size() > 2) {
      return bad(use, "expected gpu[:type][:n], shard:n or mps:n");
    }
    if (words[0] == "shard") {
      draft.devices = {DeviceWish::Kind::kSlots, MilliGpu(), *number, "", "--gres", use.source};
    } else if (words[0] == "mps") {
      one.value = format_gpus(MilliGpu(*number * 10));
      if (auto status = set_gpus_per_node(draft, one, world); !status) return status;
    } else {
      return bad(use, "Rota gives out gpu, shard and mps; there is no '" + std::string(words[0]) +
                          "'");
    }
  }
  return {};
}

template <MemoryWish::Kind kKind>
Status set_memory(Draft& draft, Use use, World) {
  const auto amount = parse_memory(use.value);
  if (!amount) return bad(use, "write 64G or 512M; a bare number counts mebibytes");
  draft.memory = {kKind, *amount, use.source};
  return {};
}

/// `afterok:12:13,afterany:14`. Rota waits for all of them.
Status set_dependency(Draft& draft, Use use, World) {
  R& request = draft.request;
  if (use.value.find('?') != std::string::npos) {
    return bad(use, "alternatives ('?') are not supported; separate with ',' to wait for all");
  }
  request.after.clear();
  request.afterok.clear();
  request.afterany.clear();
  for (const std::string_view part : split(use.value, ',')) {
    const std::vector<std::string_view> words = split(part, ':');
    std::vector<std::string>* list = nullptr;
    if (words[0] == "after") list = &request.after;
    if (words[0] == "afterok") list = &request.afterok;
    if (words[0] == "afterany") list = &request.afterany;
    if (list == nullptr) {
      constexpr std::array<std::string_view, 3> kKnown{"after", "afterok", "afterany"};
      const std::string_view near = nearest_word(words[0], kKnown);
      return bad(use, "'" + std::string(words[0]) +
                          "' is not supported; Rota knows after, afterok and afterany" +
                          (near.empty() ? "" : " (did you mean " + std::string(near) + "?)"));
    }
    if (words.size() < 2) return bad(use, "expected " + std::string(words[0]) + ":ID");
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i].find('+') != std::string_view::npos) {
        return bad(use, "a delay after the start ('+') is not supported; use --begin");
      }
      list->emplace_back(words[i]);
    }
  }
  return {};
}

/// Features are node labels here; a bare word can only be a GPU model.
Status set_constraint(Draft& draft, Use use, World) {
  constexpr std::array<std::string_view, 22> kModels{
      "h100", "h200", "a100", "a100_80gb", "a100-80gb", "b200", "b300", "gb200", "v100", "p100",
      "l40s", "l40",  "l4",   "a40",       "a30",       "a10",  "a10g", "t4",    "a6000", "rtx6000",
      "mi300x", "mi250"};
  if (use.value.find_first_of("[]*()") != std::string::npos) {
    return bad(use, "counts and groups are not supported; use --label, --gpu-type or --same");
  }
  std::vector<std::string> models;
  std::string flat = use.value;
  std::replace(flat.begin(), flat.end(), '&', ',');
  for (const std::string_view part : split(flat, ',')) {
    if (const auto equals = part.find('='); equals != std::string_view::npos && equals > 0) {
      draft.request.labels[std::string(part.substr(0, equals))] = part.substr(equals + 1);
      continue;
    }
    for (const std::string_view word : split(part, '|')) {
      if (std::find(kModels.begin(), kModels.end(), word) == kModels.end()) {
        return bad(use, "nodes have no feature '" + std::string(word) +
                            "' here; use --label KEY=VALUE, --gpu-type or --on");
      }
      models.emplace_back(word);
    }
  }
  if (!models.empty()) draft.request.models = std::move(models);
  return {};
}

Status set_partition(Draft& draft, Use use, World) {
  add_to_list(draft.pools, use);
  if (use.value == "any") draft.pools.clear();
  return {};
}

Status set_nice(Draft& draft, Use use, World) {
  if (use.value.empty()) {
    draft.request.priority = -100;
    return {};
  }
  const auto number = number_of(use, -2'147'483'645, 2'147'483'645);
  if (!number) return number.error();
  draft.request.priority = -*number;
  return {};
}

Status set_open_mode(Draft& draft, Use use, World) {
  if (use.value != "append" && use.value != "truncate") {
    return bad(use, "expected append or truncate");
  }
  draft.request.append_output = use.value == "append";
  return {};
}

Status set_test_only(Draft& draft, Use, World) {
  draft.dry_run = true;
  return {};
}

Status set_switches(Draft& draft, Use use, World) {
  const std::string_view count = std::string_view(use.value).substr(0, use.value.find('@'));
  const auto number = parse_int(count);
  if (!number || *number < 1) return bad(use, "expected COUNT[@TIME]");
  if (*number == 1) {
    draft.request.prefer = "block";
  } else {
    warn(draft, use, "only one switch can be asked for; taken as no wish");
  }
  return {};
}

Status set_segment(Draft& draft, Use use, World) {
  const auto number = number_of(use, 1, 100'000);
  if (!number) return number.error();
  if (draft.nodes && *draft.nodes != *number) {
    return bad(use, "segments smaller than the job are not supported; use --same block");
  }
  draft.request.same = "block";
  return {};
}

Status set_kill_on_invalid(Draft& draft, Use use, World) {
  if (use.value != "yes" && use.value != "no") return bad(use, "expected yes or no");
  if (use.value == "no") {
    warn(draft, use, "the cluster's policy dependency_never decides; see `rota show`");
  }
  return {};
}

/// Accepted, since the job runs the same without it.
Status nothing_to_do(Draft& draft, Use use, World) {
  const std::string_view name = use.option->name;
  if (name.starts_with("mail")) {
    warn(draft, use, "Rota sends no mail; follow the job with `rota wait` or `rota events -f`");
  } else if (name == "gpu-bind") {
    warn(draft, use, "each task sees its own GPUs only");
  } else if (name == "time-min") {
    warn(draft, use, "Rota never shortens a time limit");
  } else if (name == "no-kill") {
    warn(draft, use, "a job that loses a node is stopped as a whole and requeued");
  } else if (name.starts_with("ntasks-per-")) {
    warn(draft, use, "not needed: --ntasks and --gpus-per-task say it all");
  }
  return {};
}

/// Refused, since the job would not be what was asked for.
Status refuse(Draft&, Use use, World) {
  return Error{ErrorCode::kInvalidArgument, "--" + std::string(use.option->name) +
                                                " is not supported: " +
                                                std::string(use.option->help)};
}

std::vector<SubmitOption> carried_out() {
  return {
      {"account", 'A', kOne, "QUEUE", kSlurm, "the same as --queue", kSlurmOnly,
       set_text<&R::queue>},
      {"partition", 'p', kOne, "POOL", kSlurm, "only nodes of this pool; any: all", kSlurmOnly,
       set_partition},
      {"qos", 'q', kOne, "CLASS", kSlurm, "the same as --class", kSlurmOnly,
       set_text<&R::job_class>},
      {"constraint", 'C', kOne, "LIST", kSlurm, "GPU model, or KEY=VALUE of a node label",
       kSlurmOnly, set_constraint},
      {"dependency", 'd', kOne, "LIST", kSlurm, "afterok:ID:ID,afterany:ID,after:ID", kSlurmOnly,
       set_dependency},
      {"gres", 0, kOne, "LIST", kSlurm, "gpu:h100:4 on each node; shard:n, mps:n", kSlurmOnly,
       set_gres},
      {"gpus-per-node", 0, kOne, "[TYPE:]N", kSlurm, "GPUs of each node's task", kSlurmOnly,
       set_gpus_per_node},
      {"gpus-per-task", 0, kOne, "[TYPE:]N", kSlurm, "GPUs for each of -n tasks", kSlurmOnly,
       set_gpus_per_process},
      {"ntasks", 'n', kOne, "N", kSlurm, "processes in all", kSlurmOnly,
       set_count<&Draft::processes>},
      {"ntasks-per-node", 0, kOne, "N", kSlurm, "processes of each node", kSlurmOnly,
       set_count<&Draft::processes_per_node>},
      {"cpus-per-gpu", 0, kOne, "N", kSlurm, "CPUs for each GPU", kSlurmOnly,
       set_count<&Draft::cpus_per_gpu>},
      {"mem-per-cpu", 0, kOne, "SIZE", kSlurm, "host memory for each CPU", kSlurmOnly,
       set_memory<MemoryWish::Kind::kPerCpu>},
      {"mem-per-gpu", 0, kOne, "SIZE", kSlurm, "host memory for each GPU", kSlurmOnly,
       set_memory<MemoryWish::Kind::kPerGpu>},
      {"nice", 0, kMaybe, "N", kSlurm, "the same as --priority -N", kSlurmOnly, set_nice},
      {"open-mode", 0, kOne, "MODE", kSlurm, "append or truncate", kSlurmOnly, set_open_mode},
      {"test-only", 0, kFlag, "", kSlurm, "the same as --dry-run", kSlurmOnly, set_test_only},
      {"switches", 0, kOne, "N[@TIME]", kSlurm, "1: the same as --prefer block", kSlurmOnly,
       set_switches},
      {"segment", 0, kOne, "N", kSlurm, "the whole job: the same as --same block", kSlurmOnly,
       set_segment},
      {"kill-on-invalid-dep", 0, kOne, "yes|no", kSlurm, "of a dependency that cannot be met",
       kSlurmOnly, set_kill_on_invalid},
  };
}

std::vector<SubmitOption> passed_over() {
  std::vector<SubmitOption> all;
  const auto add = [&](std::string_view name, char letter, Takes takes, std::string_view value) {
    all.push_back({name, letter, takes, value, kSlurm, "accepted; nothing to do here", kSlurmOnly,
                   nothing_to_do});
  };
  add("mail-type", 0, kOne, "LIST");
  add("mail-user", 0, kOne, "WHO");
  add("gpu-bind", 0, kOne, "TYPE");
  add("time-min", 0, kOne, "LIMIT");
  add("no-kill", 'k', kMaybe, "off");
  add("ntasks-per-gpu", 0, kOne, "N");
  add("ntasks-per-socket", 0, kOne, "N");
  add("quiet", 'Q', kFlag, "");
  return all;
}

std::vector<SubmitOption> refused() {
  std::vector<SubmitOption> all;
  const auto add = [&](std::string_view name, char letter, Takes takes, std::string_view help) {
    all.push_back({name, letter, takes, takes == kFlag ? "" : "..", kRefused, help, kSlurmOnly,
                   refuse});
  };
  add("exclusive", 0, kMaybe, "ask for all GPUs of a node instead (--gpus 8)");
  add("reservation", 0, kOne, "Rota has no named reservations; use --begin and a queue's quota");
  add("gpus-per-socket", 0, kOne, "use --gpus and --same socket");
  add("clusters", 'M', kOne, "there is one cluster; choose the daemon with ROTA_SOCKET");
  add("cluster-constraint", 0, kOne, "there is one cluster");
  add("licenses", 'L', kOne, "licences are not counted");
  add("input", 'i', kOne, "redirect inside the script: COMMAND < FILE");
  add("uid", 0, kOne, "a job runs as the one who submits it");
  add("gid", 0, kOne, "a job runs as the one who submits it");
  add("distribution", 'm', kOne, "use --same and --prefer");
  add("get-user-env", 0, kMaybe, "the environment of the submitter is taken (see --export)");
  add("sockets-per-node", 0, kOne, "use --same socket");
  add("nodefile", 'F', kOne, "name the nodes with --on");
  add("tmp", 0, kOne, "local disk is not counted");
  add("container", 0, kOne, "start the container inside the script");
  add("oversubscribe", 's', kFlag, "ask for a fraction (--gpus 0.5) or slots");
  return all;
}

}  // namespace

std::vector<SubmitOption> slurm_options() {
  std::vector<SubmitOption> all;
  for (auto part : {carried_out(), passed_over(), refused()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace rota::cli
