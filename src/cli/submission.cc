#include "cli/submission.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "api/json.h"
#include "cli/directives.h"
#include "cli/submit_options.h"
#include "cli/usage.h"

namespace rota::cli {
namespace {

constexpr std::size_t kScriptBytesMax = 512 * 1024;
constexpr std::size_t kRequestBytesMax = 1024 * 1024;  // what a daemon reads

Result<std::string> read_script(const std::string& file) {
  if (file.empty()) return usage_error("the name of the script is empty");
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) {
    return usage_error("'" + file + "' is a folder; give a script, or a command after --");
  }
  std::ifstream input(file, std::ios::binary);
  if (!input) {
    return Error{ErrorCode::kInvalidArgument, "cannot read the script '" + file +
                                                  "'; to run a command write: -- " + file};
  }
  std::string text{std::istreambuf_iterator<char>(input), {}};
  if (text.find('\0') != std::string::npos) {
    return usage_error("'" + file + "' is a program, not a script; write: -- " + file);
  }
  if (text.size() > kScriptBytesMax) {
    return usage_error("the script '" + file + "' is larger than 512 KiB; write: -- " + file);
  }
  if (!text.starts_with("#!")) {
    return usage_error(
        "the script must begin with a #! line, like #!/bin/bash; to run a program write: "
        "-- " +
            file,
        file + ":1:1");
  }
  return text;
}

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

Status take_script(const Parsed& parsed, Draft& draft, std::vector<OptionUse>& uses) {
  const std::string& file = parsed.tail.front();
  auto script = read_script(file);
  if (!script) return script.error();
  auto head = read_directives(*script, file);
  if (!head) return head.error();
  draft.slurm_style = head->has_sbatch;
  draft.warnings = std::move(head->warnings);
  uses.insert(uses.end(), head->uses.begin(), head->uses.end());
  draft.request.script = std::move(*script);
  draft.request.script_name = base_name(file);
  draft.request.script_args.assign(parsed.tail.begin() + 1, parsed.tail.end());
  return {};
}

Status take_work(const Parsed& parsed, Draft& draft, std::vector<OptionUse>& uses) {
  if (parsed.tail_kind == TailKind::kFile) return take_script(parsed, draft, uses);
  if (parsed.tail_kind == TailKind::kCommand) {
    if (parsed.tail.empty()) return usage_error("nothing to run after --");
    if (parsed.tail.front().empty()) return usage_error("the command after -- is empty");
    draft.request.argv = parsed.tail;
  }
  return {};
}

/// --wrap makes a script of a shell command.
Status settle_work(const Parsed& parsed, Draft& draft) {
  if (draft.wrap) {
    if (parsed.tail_kind != TailKind::kNone) {
      return usage_error("--wrap and a FILE or -- exclude each other");
    }
    draft.request.script = "#!/bin/sh\n" + *draft.wrap + "\n";
    draft.request.script_name = "wrap";
  } else if (parsed.tail_kind == TailKind::kNone) {
    return usage_error("nothing to run: give a script FILE, or a command after --");
  }
  if (draft.request.name.empty()) {
    draft.request.name = draft.wrap ? "wrap" : base_name(parsed.tail.front());
  }
  return {};
}

Status settle_paths(Draft& draft, const Context& context) {
  api::SubmitRequest& request = draft.request;
  if (context.directory.empty())
    return usage_error("the working directory is gone; change to another");
  const std::filesystem::path here(context.directory);
  request.workdir = (here / request.workdir).lexically_normal().string();
  if (request.workdir.size() > 1 && request.workdir.back() == '/') request.workdir.pop_back();
  return {};
}

/// What is too large is nearly always the environment, which comes along unasked.
Status check_size(const api::SubmitRequest& request) {
  const std::size_t whole = api::to_text(request).size();
  if (whole <= kRequestBytesMax) return {};
  std::size_t env = 0;
  for (const auto& [name, value] : request.env) env += name.size() + value.size();
  const auto kib = [](std::size_t bytes) { return std::to_string(bytes / 1024) + " KiB"; };
  return usage_error("the submission is too large: " + kib(whole) + " (the environment alone " +
                     kib(env) + "), and a daemon takes " + kib(kRequestBytesMax) +
                     "; pass fewer variables: --export NONE, or --export NAME,NAME");
}

}  // namespace

void declare_submit_options(CLI::App& app, unsigned places) {
  for (const SubmitOption& option : submit_options()) {
    if ((option.places & places) == 0) continue;
    std::string names = option.letter != 0 ? "-" + std::string(1, option.letter) + "," : "";
    names += "--" + std::string(option.name);
    const std::string help(option.help);
    const bool hidden = option.group.starts_with("Refused");
    CLI::Option* declared = nullptr;
    if (option.takes == Takes::kNothing) {
      declared = app.add_flag(names, help);
    } else {
      declared = app.add_option_function<std::vector<std::string>>(
          names, [](const std::vector<std::string>&) {}, help);
      declared->type_name(std::string(option.value));
      if (option.takes == Takes::kOptionalValue) {
        declared->expected(0, 1);
      } else {
        declared->expected(1)->allow_extra_args(false);
      }
      declared->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    declared->group(hidden ? kHiddenGroup : std::string(option.group));
  }
}

Result<Draft> make_draft(const Parsed& parsed, unsigned places, const Context& context) {
  Draft draft;
  std::vector<OptionUse> uses;
  if (auto status = take_work(parsed, draft, uses); !status) return status.error();
  for (OptionUse& use : uses_of_environment(context)) uses.push_back(std::move(use));
  for (const Spelled& spelled : parsed.options) {
    const SubmitOption* option = nullptr;
    for (const std::string& name : spelled.option->get_lnames()) {
      option = option != nullptr ? option : find_option(name, places);
    }
    // Options of the command itself (--socket) are not in the table.
    if (option != nullptr) uses.push_back({option, spelled.value, Source::kFlag, true, {}});
  }
  if (auto status = apply_uses(uses, draft, context); !status) return status.error();
  if (auto status = settle_work(parsed, draft); !status) return status.error();
  if (auto status = settle_paths(draft, context); !status) return status.error();
  if (auto status = finish_draft(draft, context); !status) return status.error();
  if (auto status = check_size(draft.request); !status) return status.error();
  if (draft.slurm_style && draft.request.gpus == 0.0 && draft.devices.option.empty()) {
    draft.warnings.emplace_back("the script asks for no GPU, so it gets none (as under Slurm); "
                                "add --gpus 1");
  }
  return draft;
}

namespace {

/// A field of a request and the options that set it, the usual one first.
struct Field {
  std::string_view name;
  std::array<std::string_view, 4> options;
};

const Field* field_of(std::string_view name) {
  static constexpr std::array<Field, 40> kFields{{
      {"queue", {"queue", "account"}},
      {"class", {"class", "qos"}},
      {"on", {"on", "nodelist", "partition"}},
      {"exclude", {"exclude"}},
      {"labels", {"label", "constraint"}},
      {"same", {"same", "segment"}},
      {"prefer", {"prefer", "switches"}},
      {"models", {"gpu-type", "gpus", "gres", "constraint"}},
      {"gpus", {"gpus", "gpus-per-node", "gpus-per-task", "gres"}},
      {"slots", {"slots", "gres"}},
      {"mig", {"mig", "gres", "gpus"}},
      {"gpu_memory_bytes", {"gpu-mem"}},
      {"cpus", {"cpus", "cpus-per-task", "cpus-per-gpu"}},
      {"memory_bytes", {"mem", "mem-per-cpu", "mem-per-gpu"}},
      {"tasks", {"tasks", "nodes", "ntasks"}},
      {"min_tasks", {"min-tasks"}},
      {"priority", {"priority", "nice"}},
      {"time_limit_seconds", {"time"}},
      {"min_runtime_seconds", {"min-runtime"}},
      {"protect_all", {"min-runtime"}},
      {"checkpoint_seconds", {"checkpoint"}},
      {"begin", {"begin"}},
      {"deadline", {"deadline"}},
      {"after", {"after", "dependency"}},
      {"afterok", {"afterok", "dependency"}},
      {"afterany", {"afterany", "dependency"}},
      {"warn_before_seconds", {"signal"}},
      {"stop_signal", {"stop-signal"}},
      {"grace_seconds", {"grace"}},
      {"retries", {"retries"}},
      {"array", {"array"}},
      {"max_concurrent", {"max-concurrent", "array"}},
      {"params", {"param", "param-file"}},
      {"name_template", {"name-template"}},
      {"name", {"name", "job-name"}},
      {"workdir", {"chdir"}},
      {"quota", {"quota"}},  // these four of a queue
      {"limit", {"limit"}},
      {"weight", {"weight"}},
      {"parent", {"parent"}},
  }};
  const auto found = std::find_if(kFields.begin(), kFields.end(),
                                  [name](const Field& field) { return field.name == name; });
  return found == kFields.end() ? nullptr : &*found;
}

/// Takes the field's own name off the front: "retries must be ..." -> "must be ...".
void drop_name(std::string_view name, std::string& message) {
  if (!message.starts_with(name)) return;
  const std::string_view rest = std::string_view(message).substr(name.size());
  if (rest.starts_with(": ")) {
    message.erase(0, name.size() + 2);
  } else if (rest.starts_with(" must ")) {
    message.erase(0, name.size() + 1);
  }
}

}  // namespace

Error in_option_words(Error error) {
  const Field* field = field_of(error.where);
  if (field == nullptr) return error;
  drop_name(field->name, error.message);
  // What this back-end cannot do is refused like what this cluster cannot hold.
  if (error.where == "min_tasks" && error.code == ErrorCode::kUnsupported) {
    error.code = ErrorCode::kRefused;
  }
  error.where = "--" + std::string(field->options[0]);
  return error;
}

Error with_place(Error error, const Draft& draft) {
  const Field* field = field_of(error.where);
  if (field == nullptr) return error;
  error = in_option_words(std::move(error));
  for (const std::string_view option : field->options) {
    const auto said = draft.places.find(option);
    if (said == draft.places.end() || option.empty()) continue;
    error.where = said->second.empty() ? "--" + std::string(option) : said->second;
    return error;
  }
  return error;
}

std::string make_idempotency_key() {
  std::array<unsigned char, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string key;
  for (const unsigned char byte : bytes) {
    key += kDigits[byte >> 4];
    key += kDigits[byte & 15];
  }
  return key;
}

}  // namespace rota::cli
