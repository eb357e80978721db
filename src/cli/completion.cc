#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/history_options.h"
#include "history/importer.h"

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

/// What can stand as a value or as a plain argument, and where a shell finds it.
enum class Offered { kNothing, kWords, kJobs, kNodes, kQueues, kFiles };

struct Offer {
  Offered source = Offered::kNothing;
  std::vector<std::string> words = {};  // kWords
};

std::vector<std::string> words_between(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, separator)) words.emplace_back(word);
  return words;
}

/// By the option's long name; what is not here is told by the name of its value.
Offer known_offer(std::string_view name) {
  struct Known {
    std::string_view options;
    Offered source;
    std::string_view words = {};
  };
  constexpr std::string_view kLevels = "node island socket rack block none";
  constexpr std::array<Known, 16> kKnown{{
      {"state", Offered::kWords, "pending starting running stopping done failed cancelled timeout"},
      {"class qos", Offered::kWords,
       "debug interactive training fine-tuning evaluation batch inference data free"},
      {"order", Offered::kWords, "fifo priority fair shortest"},
      {"backfill", Offered::kWords, "off easy conservative greedy"},
      {"placement", Offered::kWords, "pack spread least_fragmentation"},
      {"same prefer", Offered::kWords, kLevels},
      {"compare today policies", Offered::kWords,
       "fifo easy conservative greedy priority time-fair contracts slurm-like"},
      {"change", Offered::kWords,
       "policy= gpus= nodes= on= contract= checkpoint= weights= quota= limit= debug= backfill= "
       "time-limit-factor= reaction="},
      {"log-level", Offered::kWords, "trace debug info warning error off"},
      {"open-mode", Offered::kWords, "append truncate"},
      {"export", Offered::kWords, "ALL NONE"},
      {"simulate", Offered::kWords, "8xh100 2x4xh100 4xa100"},
      {"signal stop-signal", Offered::kWords, "TERM INT HUP USR1 USR2 KILL"},
      {"queue account parent", Offered::kQueues},
      {"on nodelist exclude", Offered::kNodes},
      {"after afterok afterany job array", Offered::kJobs},
  }};
  for (const Known& known : kKnown) {
    const auto names = split(known.options, ' ');
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    return {known.source, known.words.empty() ? std::vector<std::string>()
                                              : words_between(known.words, ' ')};
  }
  return {};
}

Offer offer_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') != std::string::npos) return {Offered::kWords, words_between(type, '|')};
  // Indices of a new array are nobody's job.
  if (type == "INDICES") return {};
  if (type == kHistoryFormatType) {
    Offer offer{.source = Offered::kWords};
    for (const history::HistoryFormat& format : history::history_formats()) {
      offer.words.emplace_back(format.name);
    }
    return offer;
  }
  for (const std::string& name : option.get_lnames()) {
    if (Offer offer = known_offer(name); offer.source != Offered::kNothing) return offer;
  }
  const bool path = type.find("FILE") != std::string::npos || type == "PATH" || type == "DIR" ||
                    type == "CLUSTER";
  return {path ? Offered::kFiles : Offered::kNothing};
}

/// What a command's plain arguments are.
Offer argument_of(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    if (option->get_type_name().find('|') != std::string::npos) return offer_of(*option);
    const std::string name = option->get_name(true);
    if (name.find("ID") != std::string::npos) return {Offered::kJobs};
    if (name.find("NODE") != std::string::npos) return {Offered::kNodes};
    if (name.find("NAME") != std::string::npos) return {Offered::kQueues};
  }
  constexpr std::array<std::string_view, 10> kFileCommands{
      "submit", "run",      "sim",    "replay",   "import",
      "audit",  "forecast", "whatif", "capacity", "serve"};
  const std::string& name = app.get_name();
  const bool files = std::find(kFileCommands.begin(), kFileCommands.end(), name) !=
                     kFileCommands.end();
  return {files ? Offered::kFiles : Offered::kNothing};
}

/// The shell function that lists what is there now; empty: none is needed.
std::string_view lister_of(Offered source) {
  switch (source) {
    case Offered::kJobs: return "_rota_jobs";
    case Offered::kNodes: return "_rota_nodes";
    case Offered::kQueues: return "_rota_queues";
    case Offered::kNothing:
    case Offered::kWords:
    case Offered::kFiles: return "";
  }
  return "";
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

/// A command that fills COMPREPLY.
std::string bash_offer(const Offer& offer) {
  switch (offer.source) {
    case Offered::kNothing: return "COMPREPLY=();";
    case Offered::kFiles: return "_rota_files \"$current\";";
    case Offered::kWords:
      return "COMPREPLY=($(compgen -W " + shell_word(join(offer.words, " ")) +
             " -- \"$current\"));";
    default:
      return "COMPREPLY=($(compgen -W \"$(" + std::string(lister_of(offer.source)) +
             ")\" -- \"$current\"));";
  }
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
    out += "        " + spellings(*option, "|") + ") " + bash_offer(offer_of(*option)) +
           " return ;;\n";
  }
  out += "      esac\n      words=" + shell_word(words_of(app)) + "\n";
  const Offer argument = argument_of(app);
  if (argument.source == Offered::kFiles) {
    out += "      files=1\n";
  } else if (argument.source != Offered::kNothing) {
    out += "      [[ $current == -* ]] || { " + bash_offer(argument) + " return; }\n";
  }
  out += "      ;;\n";
}

/// A command that offers values.
std::string zsh_offer(const Offer& offer) {
  switch (offer.source) {
    case Offered::kNothing: return "return";
    case Offered::kFiles: return "_files";
    case Offered::kWords: return "compadd -- " + join(offer.words, " ");
    default: return "compadd -- ${(f)\"$(" + std::string(lister_of(offer.source)) + ")\"}";
  }
}

void zsh_case(const CLI::App& app, const std::string& path, std::string& out) {
  for (const CLI::App* command : inner_of(app)) {
    zsh_case(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), out);
  }
  if (path.empty()) return;
  out += "    " + shell_word(path) + ")\n      case \"${words[CURRENT-1]}\" in\n";
  for (const CLI::Option* option : shown_options(app)) {
    if (!takes_value(*option)) continue;
    out += "        " + spellings(*option, "|") + ") " + zsh_offer(offer_of(*option)) +
           "; return ;;\n";
  }
  out += "      esac\n      entries=(\n";
  for (const CLI::App* command : inner_of(app)) {
    out += "        " + shell_word(command->get_name() + ":" + command->get_description()) + "\n";
  }
  // The first colon ends the name; those behind it are text.
  for (const CLI::Option* option : shown_options(app)) {
    for (const std::string& name : option->get_lnames()) {
      out += "        " + shell_word("--" + name + ":" + option->get_description()) + "\n";
    }
  }
  out += "      )\n";
  const Offer argument = argument_of(app);
  if (argument.source != Offered::kNothing) {
    out += "      [[ $PREFIX == -* ]] || { " + zsh_offer(argument) + "; return }\n";
  }
  out += "      ;;\n";
}

std::string fish_offer(const Offer& offer) {
  switch (offer.source) {
    case Offered::kNothing: return " -f";
    case Offered::kFiles: return "";
    case Offered::kWords: return " -f -a " + shell_word(join(offer.words, " "));
    case Offered::kJobs: return " -f -a '(rota ls -o name 2>/dev/null)'";
    case Offered::kNodes: return " -f -a '(rota nodes -o name 2>/dev/null)'";
    case Offered::kQueues: return " -f -a '(rota queue ls -o name 2>/dev/null)'";
  }
  return "";
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
    out += fish_offer(offer_of(*option));
    out += " -d " + shell_word(option->get_description()) + "\n";
  }
  const Offer argument = argument_of(app);
  if (argument.source == Offered::kFiles) return;
  out += "complete -c rota" + condition + fish_offer(argument) + "\n";
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
      "_rota_queues() { rota queue ls -o name 2>/dev/null; }\n"
      "_rota_files() {\n"
      "  compopt -o filenames 2>/dev/null\n"
      "  COMPREPLY+=($(compgen -f -- \"$1\"))\n"
      "}\n"
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
      "  if [[ -n $files && $current != -* ]]; then\n"
      "    _rota_files \"$current\"\n"
      "    return\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\n"
      "complete -F _rota rota\n";
  return out;
}

std::string zsh_completion(const CLI::App& root) {
  std::string out =
      "#compdef rota\n"
      "# zsh completion of rota; load it with: source <(rota completion zsh)\n"
      "_rota_jobs() { rota ls -o name 2>/dev/null }\n"
      "_rota_nodes() { rota nodes -o name 2>/dev/null }\n"
      "_rota_queues() { rota queue ls -o name 2>/dev/null }\n"
      "_rota() {\n"
      "  local -a entries\n"
      "  local asked=\"${words[2]}\"\n"
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
      "  case \"$asked\" in\n"
      "    " + two_word_commands(root) + ") (( CURRENT > 3 )) && asked=\"$asked ${words[3]}\" ;;\n"
      "  esac\n"
      "  case \"$asked\" in\n";
  zsh_case(root, "", out);
  out +=
      "  esac\n"
      "  (( ${#entries} )) && _describe option entries\n"
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
