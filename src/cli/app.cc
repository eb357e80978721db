#include "cli/app.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/words.h"

namespace rota::cli {
namespace {

int report_usage(Context& context, const CLI::App& app, const std::string& message) {
  const std::string path = command_path(app);
  context.err << path << ": " << message << "; see `" << path << " --help`\n";
  return kExitUsage;
}

/// What was not written is an error of a command that has none of its own. A reader who has left
/// (`| head`) wants no more.
int check_output(Context& context, int code) {
  if (context.out.good()) errno = 0;  // else it may still say why a write failed
  context.out.flush();
  if (context.out.good() || (context.reader_left && context.reader_left())) return code;
  constexpr std::array kOfWrites{ENOSPC, EDQUOT, EFBIG, EIO, EBADF, EPIPE};
  const bool known = std::find(kOfWrites.begin(), kOfWrites.end(), errno) != kOfWrites.end();
  const std::string why = known ? std::string(": ") + std::strerror(errno) : std::string();
  context.err << "rota: the output cannot be written" << why << "\n";
  return code == kExitOk ? kExitFailed : code;
}

/// Fills the options of the chosen command. Absent: parsed; else the message.
std::optional<std::string> parse_words(CLI::App& root, std::vector<std::string> words) {
  try {
    std::reverse(words.begin(), words.end());
    root.parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
}

const CLI::App* top_of(const CLI::App* app) {
  while (app->get_parent() != nullptr && app->get_parent()->get_parent() != nullptr) {
    app = app->get_parent();
  }
  return app;
}

int run_walk(Program& program, const Walk& walk, Context& context) {
  if (walk.help) {
    context.out << command_help(*walk.app);
    return kExitOk;
  }
  if (walk.version) {
    context.out << "rota " << kVersion << "\n";
    return kExitOk;
  }
  if (walk.app->get_parent() == nullptr) {
    context.err << general_help(*program.root);
    return kExitUsage;
  }
  const auto inner = walk.app->get_subcommands([](const CLI::App*) { return true; });
  if (!inner.empty()) {
    context.err << command_help(*walk.app);
    return kExitUsage;
  }
  if (const auto problem = parse_words(*program.root, walk.words)) {
    return report_usage(context, *walk.app, *problem);
  }
  for (auto& [app, runner] : program.runners) {
    if (app == top_of(walk.app)) return runner(walk.parsed);
  }
  return kExitUsage;
}

}  // namespace

Program make_program(Context& context) {
  Program program;
  program.root = std::make_unique<CLI::App>("", "rota");
  program.root->set_help_flag();
  program.root->require_subcommand(0, 1);
  for (const Command& command : commands()) {
    CLI::App* app = program.root->add_subcommand(std::string(command.name),
                                                 std::string(command.summary));
    app->set_help_flag();
    program.runners.emplace_back(app, command.declare(*app, context));
  }
  return program;
}

int run_program(const std::vector<std::string>& args, Context& context) {
  try {
    Program program = make_program(context);
    const auto walk = walk_words(args, *program.root);
    if (!walk) return report_error(context, walk.error());
    return check_output(context, run_walk(program, *walk, context));
  } catch (const std::exception& error) {
    context.err << "rota: " << error.what() << "\n";
    return kExitFailed;
  }
}

}  // namespace rota::cli
