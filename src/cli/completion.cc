#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace rota::cli {
namespace {

std::vector<const CLI::App*> inner_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  std::vector<const CLI::Option*> shown;
  for (const CLI::Option* option : app.get_options()) {
    const bool hidden = option->get_group().empty();
    if (!hidden && !option->get_positional()) shown.push_back(option);
  }
  return shown;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_min() > 0; }

/// Values that can be named: "table wide json ..." from a type name like table|wide|json.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') == std::string::npos) return {};
  std::vector<std::string> values;
  for (const std::string_view value : split(type, '|')) values.emplace_back(value);
  return values;
}

/// What a command's plain arguments are.
enum class Argument { kNothing, kJob, kNode, kFile };

Argument argument_of(const CLI::App& app) {
  constexpr std::array<std::string_view, 5> kFileCommands{"submit", "run", "sim", "replay",
                                                          "serve"};
  const std::string& name = app.get_name();
  if (std::find(kFileCommands.begin(), kFileCommands.end(), name) != kFileCommands.end()) {
    return Argument::kFile;
  }
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    if (option->get_name(true).find("ID") != std::string::npos) return Argument::kJob;
    if (option->get_name(true).find("NODE") != std::string::npos) return Argument::kNode;
  }
  return Argument::kNothing;
}

std::string words_of(const CLI::App& app) {
  std::string words;
  for (const CLI::App* command : inner_of(app)) words += command->get_name() + " ";
  for (const CLI::Option* option : shown_options(app)) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
    for (const std::string& name : option->get_snames()) words += "-" + name + " ";
  }
  return words + "--help";
}

std::string spellings(const CLI::Option& option, std::string_view separator) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return join(names, separator);
}

/// `text` inside single quotes of a POSIX-like shell.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void bash_case(const CLI::App& app, const std::string& path, std::string& out) {
  for (const CLI::App* command : inner_of(app)) {
    bash_case(*command, path.empty() ? command->get_name() : path + " " + command->get_name(),
              out);
  }
  if (path.empty()) return;
  out += "    " + shell_word(path) + ")\n      case \"$previous\" in\n";
  for (const CLI::Option* option : shown_options(app)) {
    if (!takes_value(*option)) continue;
    const auto values = values_of(*option);
    out += "        " + spellings(*option, "|") + ") ";
    out += values.empty() ? "COMPREPLY=($(compgen -f -- \"$current\"));"
                          : "COMPREPLY=($(compgen -W " + shell_word(join(values, " ")) +
                                " -- \"$current\"));";
    out += " return ;;\n";
  }
  out += "      esac\n      words=" + shell_word(words_of(app)) + "\n";
  switch (argument_of(app)) {
    case Argument::kNothing: break;
    case Argument::kJob:
      out += "      [[ $current == -* ]] || words=\"$words $(_rota_jobs)\"\n";
      break;
    case Argument::kNode:
      out += "      [[ $current == -* ]] || words=\"$words $(_rota_nodes)\"\n";
      break;
    case Argument::kFile: out += "      files=1\n"; break;
  }
  out += "      ;;\n";
}

void zsh_case(const CLI::App& app, const std::string& path, std::string& out) {
  for (const CLI::App* command : inner_of(app)) {
    zsh_case(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), out);
  }
  if (path.empty()) return;
  out += "    " + shell_word(path) + ")\n      entries=(\n";
  for (const CLI::App* command : inner_of(app)) {
    out += "        " + shell_word(command->get_name() + ":" + command->get_description()) + "\n";
  }
  for (const CLI::Option* option : shown_options(app)) {
    for (const std::string& name : option->get_lnames()) {
      std::string text = option->get_description();
      std::replace(text.begin(), text.end(), ':', ';');
      out += "        " + shell_word("--" + name + ":" + text) + "\n";
    }
  }
  out += "      )\n";
  switch (argument_of(app)) {
    case Argument::kNothing: break;
    case Argument::kJob: out += "      arguments=(${(f)\"$(_rota_jobs)\"})\n"; break;
    case Argument::kNode: out += "      arguments=(${(f)\"$(_rota_nodes)\"})\n"; break;
    case Argument::kFile: out += "      files=1\n"; break;
  }
  out += "      ;;\n";
}

void fish_lines(const CLI::App& app, std::string& out) {
  const std::string condition =
      " -n " + shell_word("__fish_seen_subcommand_from " + app.get_name());
  for (const CLI::App* command : inner_of(app)) {
    out += "complete -c rota -f" + condition + " -a " + command->get_name() + " -d " +
           shell_word(command->get_description()) + "\n";
    fish_lines(*command, out);
  }
  for (const CLI::Option* option : shown_options(app)) {
    out += "complete -c rota" + condition;
    for (const std::string& name : option->get_lnames()) out += " -l " + name;
    for (const std::string& name : option->get_snames()) out += " -s " + name;
    if (takes_value(*option)) out += " -r";
    const auto values = values_of(*option);
    if (!values.empty()) out += " -f -a " + shell_word(join(values, " "));
    out += " -d " + shell_word(option->get_description()) + "\n";
  }
  const Argument argument = argument_of(app);
  if (argument == Argument::kFile) return;
  out += "complete -c rota -f" + condition;
  if (argument == Argument::kJob) out += " -a '(rota ls -o name 2>/dev/null)'";
  if (argument == Argument::kNode) out += " -a '(rota nodes -o name 2>/dev/null)'";
  out += "\n";
}

std::string two_word_commands(const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::App* command : inner_of(root)) {
    if (!inner_of(*command).empty()) names.push_back(command->get_name());
  }
  return names.empty() ? "none" : join(names, "|");
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  std::string out =
      "# bash completion of rota; load it with: source <(rota completion bash)\n"
      "_rota_jobs() { rota ls -o name 2>/dev/null; }\n"
      "_rota_nodes() { rota nodes -o name 2>/dev/null; }\n"
      "_rota() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  local words='' files='' path=\"${COMP_WORDS[1]}\"\n"
      "  COMPREPLY=()\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W " + shell_word(words_of(root)) + " -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$path\" in\n"
      "    " + two_word_commands(root) + ")\n"
      "      [[ $COMP_CWORD -gt 2 ]] && path=\"$path ${COMP_WORDS[2]}\" ;;\n"
      "  esac\n"
      "  case \"$path\" in\n";
  bash_case(root, "", out);
  out +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  if [[ -n $files && $current != -* ]]; then\n"
      "    COMPREPLY+=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _rota rota\n";
  return out;
}

std::string zsh_completion(const CLI::App& root) {
  std::string out =
      "#compdef rota\n"
      "# zsh completion of rota; load it with: source <(rota completion zsh)\n"
      "_rota_jobs() { rota ls -o name 2>/dev/null }\n"
      "_rota_nodes() { rota nodes -o name 2>/dev/null }\n"
      "_rota() {\n"
      "  local -a entries arguments\n"
      "  local files='' path=\"${words[2]}\"\n"
      "  if (( CURRENT == 2 )); then\n"
      "    entries=(\n";
  for (const CLI::App* command : inner_of(root)) {
    out += "      " + shell_word(command->get_name() + ":" + command->get_description()) + "\n";
  }
  out +=
      "    )\n"
      "    _describe command entries\n"
      "    return\n"
      "  fi\n"
      "  case \"$path\" in\n"
      "    " + two_word_commands(root) + ") (( CURRENT > 3 )) && path=\"$path ${words[3]}\" ;;\n"
      "  esac\n"
      "  case \"$path\" in\n";
  zsh_case(root, "", out);
  out +=
      "  esac\n"
      "  (( ${#entries} )) && _describe option entries\n"
      "  (( ${#arguments} )) && compadd -a arguments\n"
      "  [[ -n $files ]] && _files\n"
      "}\n"
      "compdef _rota rota\n";
  return out;
}

std::string fish_completion(const CLI::App& root) {
  std::string out = "# fish completion of rota; load it with: rota completion fish | source\n";
  for (const CLI::App* command : inner_of(root)) {
    out += "complete -c rota -f -n __fish_use_subcommand -a " + command->get_name() + " -d " +
           shell_word(command->get_description()) + "\n";
  }
  for (const CLI::App* command : inner_of(root)) fish_lines(*command, out);
  return out;
}

}  // namespace rota::cli
