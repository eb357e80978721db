#include "cli/submit_draft.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cli/reserved_names.h"
#include "cli/sweep.h"
#include "cli/time_text.h"
#include "cli/usage.h"
#include "report/words.h"

namespace rota::cli {
namespace {

constexpr std::int64_t kArrayIndexMax = 4'000'000;
constexpr std::size_t kArrayMembersMax = 100'000;

/// Slurm's tasks on one node, and from it the number of Rota's tasks.
struct Layout {
  std::int64_t tasks = 1;
  std::int64_t processes_per_task = 1;
};

Result<Layout> layout_of(const Draft& draft) {
  using Kind = DeviceWish::Kind;
  Layout layout;
  if (draft.nodes) {
    layout.tasks = *draft.nodes;
    if (draft.processes_per_node) {
      layout.processes_per_task = *draft.processes_per_node;
    } else if (draft.processes) {
      if (*draft.processes < layout.tasks) {
        return usage_error("--ntasks " + std::to_string(*draft.processes) +
                           " is less than --nodes " + std::to_string(layout.tasks));
      }
      layout.processes_per_task = (*draft.processes + layout.tasks - 1) / layout.tasks;
    }
    return layout;
  }
  if (draft.processes_per_node) {
    layout.processes_per_task = *draft.processes_per_node;
    const std::int64_t all = draft.processes.value_or(layout.processes_per_task);
    layout.tasks = (all + layout.processes_per_task - 1) / layout.processes_per_task;
    return layout;
  }
  const std::int64_t processes = draft.processes.value_or(1);
  const Kind kind = draft.devices.kind;
  const bool on_one_node = kind == Kind::kPerTask || kind == Kind::kSlots || kind == Kind::kMig;
  if (on_one_node) {
    layout.processes_per_task = processes;
  } else {
    layout.tasks = processes;
  }
  return layout;
}

Status settle_devices(Draft& draft, const Layout& layout) {
  using Kind = DeviceWish::Kind;
  const DeviceWish& wish = draft.devices;
  api::SubmitRequest& request = draft.request;
  Kind kind = wish.kind;
  if (kind == Kind::kPlain) kind = draft.slurm_style ? Kind::kPerJob : Kind::kPerTask;
  const auto as_double = [](std::int64_t milli) { return static_cast<double>(milli) / 1000; };
  switch (kind) {
    case Kind::kPlain:
    case Kind::kNone:
      // As under Slurm: what is not asked for is not given.
      if (draft.slurm_style) request.gpus = 0.0;
      return {};
    case Kind::kPerTask: request.gpus = as_double(wish.gpus.value()); return {};
    case Kind::kPerProcess:
      request.gpus = as_double(wish.gpus.value() * layout.processes_per_task);
      return {};
    case Kind::kPerJob: {
      const std::int64_t each = wish.gpus.value() / layout.tasks;
      const bool even = each * layout.tasks == wish.gpus.value() &&
                        (each % 1000 == 0 || layout.tasks == 1);
      if (!even) {
        return usage_error(wish.option + ": " + format_gpus(wish.gpus) +
                           " GPUs cannot be divided evenly " + "among " +
                           std::to_string(layout.tasks) + " tasks; ask for N/node instead");
      }
      request.gpus = as_double(each);
      return {};
    }
    case Kind::kSlots: request.slots = wish.slots; return {};
    case Kind::kMig: request.mig = wish.mig; return {};
  }
  return {};
}

Status settle_host(Draft& draft, const Layout& layout) {
  api::SubmitRequest& request = draft.request;
  const auto gpus = static_cast<std::int64_t>(request.gpus.value_or(1) + 0.999);
  if (draft.cpus_per_process) {
    request.cpus = *draft.cpus_per_process * layout.processes_per_task;
  } else if (draft.cpus_per_gpu) {
    request.cpus = *draft.cpus_per_gpu * gpus;
  } else if (draft.slurm_style) {
    request.cpus = layout.processes_per_task;
  }
  switch (draft.memory.kind) {
    case MemoryWish::Kind::kNone: return {};
    case MemoryWish::Kind::kPerNode: request.memory_bytes = draft.memory.amount.value(); return {};
    case MemoryWish::Kind::kPerCpu:
      request.memory_bytes =
          draft.memory.amount.value() * std::max<std::int64_t>(request.cpus, 1);
      return {};
    case MemoryWish::Kind::kPerGpu:
      if (gpus == 0) return usage_error("--mem-per-gpu needs a number of GPUs; add --gpus 1");
      request.memory_bytes = draft.memory.amount.value() * gpus;
      return {};
  }
  return {};
}

bool belongs_to_a_job(std::string_view name) {
  return name == "_" || name == "SHLVL" || name == "PWD" || name == "OLDPWD" ||
         name.starts_with("ROTA_") || name.starts_with("SLURM_") || name.starts_with("SBATCH_");
}

bool is_utf8(std::string_view text) {
  std::size_t follow = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (follow > 0) {
      if ((byte >> 6) != 2) return false;
      --follow;
    } else if (byte >= 0xf0) {
      follow = 3;
    } else if (byte >= 0xe0) {
      follow = 2;
    } else if (byte >= 0xc2) {
      follow = 1;
    } else if (byte >= 0x80) {
      return false;
    }
  }
  return follow == 0;
}

bool is_variable_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// `NAME` takes the submitter's value, `NAME=VALUE` sets one.
Status add_variable(std::string_view setting, std::string_view option, const Context& context,
                    std::map<std::string, std::string>& env) {
  const std::size_t equals = setting.find('=');
  const std::string name(setting.substr(0, equals));
  if (!is_variable_name(name)) {
    return usage_error(std::string(option) + ": '" + name + "' is no name of a variable");
  }
  if (is_set_by_rota(name)) {
    return usage_error(std::string(option) + ": Rota sets " + name +
                       " itself, for each job; leave it out");
  }
  if (equals != std::string_view::npos) {
    env[name] = setting.substr(equals + 1);
    return {};
  }
  const auto found = context.environment.find(name);
  if (found == context.environment.end()) {
    return usage_error(std::string(option) + ": the variable " + name + " is not set here; write " +
                       name + "=VALUE");
  }
  env[name] = found->second;
  return {};
}

void add_all(Draft& draft, const Context& context) {
  for (const auto& [name, value] : context.environment) {
    if (belongs_to_a_job(name)) continue;
    if (!is_utf8(name) || !is_utf8(value)) {
      draft.warnings.push_back("variable " + (is_utf8(name) ? name : std::string("?")) +
                               " is not UTF-8 and is left out of the job's environment");
      continue;
    }
    draft.request.env[name] = value;
  }
}

Status settle_environment(Draft& draft, const Context& context) {
  const std::string spec = draft.export_spec.empty() ? "ALL" : draft.export_spec;
  for (const std::string_view part : split(spec, ',')) {
    if (part == "NONE" || part == "NIL") {
      draft.request.env.clear();
      // A job without any environment finds no programs: these three say whose it is and where.
      for (const char* name : {"HOME", "USER", "PATH"}) {
        if (const auto value = context.variable(name)) draft.request.env[name] = *value;
      }
    } else if (part == "ALL") {
      add_all(draft, context);
    } else if (auto status = add_variable(part, "--export", context, draft.request.env); !status) {
      return status;
    }
  }
  for (const std::string& setting : draft.env_settings) {
    if (auto status = add_variable(setting, "--env", context, draft.request.env); !status) {
      return status;
    }
  }
  return {};
}

/// `%j` and the like, with a width between, are replaced; anything else would be kept as it is.
Status check_pattern(std::string_view option, std::string_view pattern) {
  constexpr std::string_view kLetters = "jAaxNtu%";
  for (std::size_t at = 0; (at = pattern.find('%', at)) != std::string_view::npos; ++at) {
    const std::size_t begin = at++;
    while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9') ++at;
    if (at < pattern.size() && kLetters.find(pattern[at]) != std::string_view::npos) continue;
    return usage_error(std::string(option) + " '" + std::string(pattern) + "': '" +
                       std::string(pattern.substr(begin, at + 1 - begin)) +
                       "' stands for nothing; known: %j id, %A array, %a index, %x name, %N node, "
                       "%t rank, %u user, and %% for a percent sign");
  }
  return {};
}

/// A deadline that cannot be met even by a start at once is a slip of the pen.
Status check_deadline(const Draft& draft, const Context& context) {
  const api::SubmitRequest& request = draft.request;
  const auto deadline = parse_iso_time(request.deadline);
  if (!deadline) return {};
  const std::int64_t now = context.now_seconds();
  const std::string head = "--deadline " + iso_and_relative(request.deadline, now) + ": ";
  if (*deadline <= now) return usage_error(head + "that is over");
  const std::int64_t begin = std::max(now, parse_iso_time(request.begin).value_or(now));
  if (*deadline <= begin) return usage_error(head + "--begin lies behind it");
  const double limit = request.time_limit_seconds.value_or(0);
  const auto left = static_cast<double>(*deadline - begin);
  if (limit <= left) return {};
  return usage_error(head + "--time allows the job " + report::short_duration(limit) +
                     ", but only " + report::short_duration(left) + " lie before it");
}

/// An error names the line or variable that said so.
Error at_its_place(Error error, const Draft& draft, std::string_view option) {
  const auto said = draft.places.find(option);
  if (said != draft.places.end() && error.where.empty()) error.where = said->second;
  return error;
}

Status check_values(const Draft& draft, const Context& context) {
  if (auto status = check_deadline(draft, context); !status) {
    return at_its_place(status.error(), draft, "deadline");
  }
  if (auto status = check_pattern("--output", draft.request.stdout_path); !status) {
    return at_its_place(status.error(), draft, "output");
  }
  if (auto status = check_pattern("--error", draft.request.stderr_path); !status) {
    return at_its_place(status.error(), draft, "error");
  }
  return {};
}

}  // namespace

Result<Bytes> parse_memory(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 12> kUnits{
      {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"KB", 10}, {"MB", 20}, {"GB", 30},
       {"TB", 40}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}}};
  std::int64_t shift = 20;
  std::string_view digits = text;
  for (const auto& [unit, bits] : kUnits) {
    if (!text.ends_with(unit)) continue;
    digits.remove_suffix(unit.size());
    shift = bits;
    break;
  }
  const auto amount = parse_fixed(digits, 3);
  if (!amount || *amount < 0 || *amount > 1'000'000'000'000 ||
      (shift == 40 && *amount > 1'000'000'000)) {
    return usage_error("'" + std::string(text) +
                       "' is no amount of memory; write 64G, 512M or 1.5T");
  }
  return Bytes(static_cast<std::int64_t>((Int128{*amount} << shift) / 1000));
}

Status parse_array(std::string_view text, api::SubmitRequest& request) {
  const std::string whole(text);
  const auto malformed = [&] {
    return usage_error("--array '" + whole + "': expected indices like 1-320%40, 0-15:4 or 1,3,5");
  };
  request.array.clear();
  request.max_concurrent.reset();
  if (const auto percent = text.find('%'); percent != std::string_view::npos) {
    const auto limit = parse_int(text.substr(percent + 1));
    if (!limit || *limit < 1) return malformed();
    request.max_concurrent = *limit;
    text = text.substr(0, percent);
  }
  for (std::string_view part : split(text, ',')) {
    std::int64_t step = 1;
    if (const auto colon = part.find(':'); colon != std::string_view::npos) {
      const auto parsed = parse_int(part.substr(colon + 1));
      if (!parsed || *parsed < 1) return malformed();
      step = *parsed;
      part = part.substr(0, colon);
    }
    const auto dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) return malformed();
    if (*last > kArrayIndexMax) {
      return usage_error("--array '" + whole + "': the largest index is " +
                 std::to_string(kArrayIndexMax));
    }
    for (std::int64_t index = *first; index <= *last; index += step) {
      request.array.push_back(index);
      if (request.array.size() > kArrayMembersMax) {
        return usage_error("--array '" + whole + "': more than " +
                           std::to_string(kArrayMembersMax) + " members");
      }
    }
  }
  std::sort(request.array.begin(), request.array.end());
  request.array.erase(std::unique(request.array.begin(), request.array.end()),
                      request.array.end());
  return {};
}

Status finish_draft(Draft& draft, const Context& context) {
  const auto layout = layout_of(draft);
  if (!layout) return layout.error();
  draft.request.tasks = layout->tasks;
  if (auto status = settle_devices(draft, *layout); !status) return status;
  if (auto status = settle_host(draft, *layout); !status) return status;
  draft.request.slurm_style = draft.slurm_style;
  if (draft.slurm_style && draft.request.tasks > 1 && draft.nodes) {
    draft.warnings.push_back("--nodes " + std::to_string(*draft.nodes) +
                             ": several of these tasks may share one node; --gpus-per-node with "
                             "all GPUs of a node keeps them apart");
  }
  if (draft.request.on.empty() && !draft.said.contains("on")) draft.request.on = draft.pools;
  const auto limit = draft.request.max_concurrent;
  if (!draft.array.empty()) {
    if (auto status = parse_array(draft.array, draft.request); !status) return status;
    if (!draft.request.max_concurrent) draft.request.max_concurrent = limit;
  }
  if (auto status = check_values(draft, context); !status) return status;
  if (auto status = settle_environment(draft, context); !status) return status;
  if (draft.params.empty() && draft.param_files.empty()) {
    if (draft.request.name_template.empty()) return {};
    return usage_error("--name-template names the members of a sweep; add --param or --param-file");
  }
  if (!draft.array.empty())
    return usage_error("--array and --param both make many jobs; give one of them");
  auto sweep = sweep_of(draft.params, draft.param_files);
  if (!sweep) return sweep.error();
  draft.request.params = std::move(*sweep);
  if (draft.request.name_template.empty()) return {};
  return check_name_template(draft.request.name_template, draft.request.params.front());
}

}  // namespace rota::cli
