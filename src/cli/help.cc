#include "cli/help.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "cli/command.h"

namespace rota::cli {
namespace {

constexpr std::size_t kNameWidth = 27;

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text + " ";
}

std::string spelled(const CLI::Option& option) {
  std::string text;
  for (const std::string& name : option.get_snames()) text += "-" + name + ", ";
  if (text.empty()) text = "    ";
  for (const std::string& name : option.get_lnames()) text += "--" + name + ", ";
  text.resize(text.size() - 2);
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    text += option.get_items_expected_min() == 0 ? "[=" + type + "]" : " " + type;
  }
  return text;
}

/// With a capital at its start and a full stop.
std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') {
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  }
  return out + ".";
}

std::string indented(std::string_view text, std::string_view pad) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) out += std::string(pad) + std::string(line);
    out += "\n";
  }
  return out;
}

std::string option_groups(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    if (group.empty() || option->get_positional()) continue;
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  std::string out;
  for (const std::string& group : groups) {
    out += "\n" + group + ":\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group || option->get_positional()) continue;
      const std::string name = "  " + spelled(*option);
      const bool fits = name.size() < kNameWidth;
      out += fits ? padded(name, kNameWidth) : name + "\n" + std::string(kNameWidth, ' ');
      out += option->get_description() + "\n";
    }
  }
  return out;
}

std::vector<const CLI::App*> inner_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string usage_lines(const std::string& path, std::string_view synopsis) {
  std::string out;
  for (const std::string_view line : split(synopsis, '\n')) {
    out += out.empty() ? "usage: " : "       ";
    out += path + (line.empty() ? "" : " ") + std::string(line) + "\n";
  }
  return out;
}

/// `rota queue set`: everything comes from the option table.
std::string inner_help(const CLI::App& app) {
  std::string synopsis = "[OPTION...]";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) synopsis += " " + option->get_name(true);
  }
  const std::string footer = app.get_footer();
  return usage_lines(command_path(app), synopsis) + "\n" + sentence(app.get_description()) + "\n" +
         (footer.empty() ? "" : "\n" + footer + "\n") + option_groups(app);
}

}  // namespace

std::string command_path(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? "rota" : command_path(*parent) + " " + app.get_name();
}

std::string general_help(const CLI::App& root) {
  std::string out =
      "usage: rota COMMAND [OPTION...] [ARGUMENT...]\n\n"
      "Rota decides which job runs when, on which GPUs, and can say why.\n";
  std::string_view group;
  for (const Command& command : commands()) {
    if (command.group != group) out += "\n" + std::string(command.group) + ":\n";
    group = command.group;
    out += "  " + padded(std::string(command.name), 13) + std::string(command.summary) + "\n";
  }
  out +=
      "\nExamples:\n"
      "  rota demo                                   see it work, without a GPU\n"
      "  rota serve                                  start the daemon of this machine\n"
      "  rota run --gpus 1 -- python train.py        run now, see the output, get the exit code\n"
      "  rota submit --gpus 2 --time 4h job.sh       queue a script (#SBATCH lines work)\n"
      "  rota why 7                                  why job 7 waits, and when it will start\n"
      "\nJobs are named by number (7), array member (12.3), or @ for your latest and @~1 for the\n"
      "one before. `rota COMMAND --help` shows a command's options and examples. Most take\n"
      "-o table|wide|json|yaml|csv|name.\n"
      "\nExit codes: 0 ok, 1 failed, 2 usage or an unreadable file, 3 no such object,\n"
      "4 refused or infeasible, 5 no daemon, 6 denied. run and wait return the job's code, 128+n\n"
      "for signal n (also of a cancelled one), 124 at its time limit, 75 when it was preempted\n"
      "and not requeued.\n";
  (void)root;
  return out;
}

std::string command_help(const CLI::App& app) {
  if (app.get_parent() == nullptr) return general_help(app);
  const Command* command = find_command(app.get_name());
  if (command == nullptr || app.get_parent()->get_parent() != nullptr) return inner_help(app);
  std::string out = usage_lines("rota " + std::string(command->name), command->synopsis);
  out += "\n" + sentence(command->summary) + "\n";
  if (!command->details.empty()) out += "\n" + std::string(command->details) + "\n";
  for (const CLI::App* inner : inner_commands(app)) {
    if (inner == inner_commands(app).front()) out += "\nCommands:\n";
    out += "  " + padded(inner->get_name(), 13) + inner->get_description() + "\n";
  }
  out += option_groups(app);
  if (!command->examples.empty()) {
    out += "\nExamples:\n" + indented(command->examples, "  ");
  }
  return out;
}

}  // namespace rota::cli
