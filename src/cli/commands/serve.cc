// serve, stop.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/process.h"
#include "cli/read_file.h"
#include "cli/serve.h"
#include "cli/usage.h"
#include "report/words.h"
#include "server/config.h"

namespace rota::cli {
namespace {

constexpr std::chrono::seconds kStartPatience{20};
constexpr std::chrono::seconds kStopPatience{20};

struct ServeCommand {
  ServeOptions serve;
  std::string port;
  bool foreground = false;
  bool background = false;
};

int serve_here(Context& context, const ServeCommand& command) {
  const auto status = serve(context, command.serve, [&](const Ready& ready) {
    context.out << ready.banner << "Stop with Ctrl-C or `rota stop`; jobs go on either way."
                << std::endl;
  });
  if (status) return kExitOk;
  const int code = report_error(context, status.error());
  return code == kExitUnreachable ? kExitFailed : code;
}

std::vector<std::string> words_of(const ServeCommand& command) {
  std::vector<std::string> words{own_program(), "serve", "--foreground"};
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(name);
    words.push_back(value);
  };
  add("--simulate", command.serve.simulate);
  add("--devices", command.serve.devices);
  add("--state", command.serve.state);
  add("--socket", command.serve.socket);
  add("--listen", command.serve.listen);
  add("--config", command.serve.config);
  add("--log-level", command.serve.log_level);
  if (command.serve.accept_loss) words.emplace_back("--accept-loss");
  return words;
}

/// What a daemon that did not start has said last: its errors, else the end of what is new in the
/// log.
std::string last_words(const std::string& log, std::uintmax_t from) {
  constexpr std::size_t kLines = 3;
  const auto text = read_text(log);
  if (!text || text->size() <= from) return {};
  std::vector<std::string> errors;
  std::vector<std::string> lines;
  for (const std::string_view line : split(std::string_view(*text).substr(from), '\n')) {
    if (line.empty()) continue;
    lines.emplace_back(line);
    if (line.starts_with("rota: ")) {
      errors.emplace_back(line.substr(6));
    } else if (!errors.empty()) {
      errors.back() += "\n" + std::string(line);  // a message of several lines
    }
  }
  if (!errors.empty()) return join(errors, "\n");
  const std::size_t skip = lines.size() > kLines ? lines.size() - kLines : 0;
  return join({lines.begin() + static_cast<std::ptrdiff_t>(skip), lines.end()}, "\n");
}

/// Starts the daemon in a session of its own, and waits until it answers.
int serve_behind(Context& context, const ServeCommand& command) {
  const auto config = server::find_config(command.serve.config);
  if (!config) return report_error(context, config.error());
  std::string state = !command.serve.state.empty() ? command.serve.state : config->state_directory;
  if (state.empty()) state = server::default_state_directory();
  std::string socket = !command.serve.socket.empty() ? command.serve.socket : config->socket;
  if (socket.empty()) socket = server::default_socket_path();
  if (listener_of(socket)) {
    return report_error(context, {ErrorCode::kConflict, "a daemon answers at " + socket +
                                                            " already; see `rota doctor`"});
  }
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(state).parent_path(), failed);
  ::mkdir(state.c_str(), 0700);  // the daemon decides on its mode
  const std::string log = state + "/daemon.log";
  const std::uintmax_t size = std::filesystem::file_size(log, failed);
  const std::uintmax_t from = failed ? 0 : size;
  const auto pid = spawn_detached(words_of(command), log);
  if (!pid) return report_error(context, pid.error());
  const auto end = std::chrono::steady_clock::now() + kStartPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (listener_of(socket)) {
      context.out << "the daemon runs (pid " << *pid << "), socket " << socket << ", log " << log
                  << "\n";
      return kExitOk;
    }
    if (wait_until_gone(*pid, std::chrono::milliseconds(0))) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const std::string why = last_words(log, from);
  return report_error(context, {ErrorCode::kConflict,
                                "the daemon did not start" + (why.empty() ? "" : ": " + why) +
                                    "\nIts log is " + log});
}

int stop_daemon(Context& context, const Common& common) {
  const http::Endpoint endpoint = endpoint_of(context, common);
  if (endpoint.socket_path.empty()) {
    return report_error(context, {ErrorCode::kInvalidArgument,
                                  "stop needs the daemon's socket (--socket PATH)"});
  }
  const auto pid = listener_of(endpoint.socket_path);
  if (!pid) return report_error(context, pid.error());
  http::Client client(endpoint);
  const auto info = client.server_info();
  if (::kill(*pid, SIGTERM) != 0) {
    const std::string who = " (pid " + std::to_string(*pid) + ")";
    return report_error(context, {errno == EPERM ? ErrorCode::kDenied : ErrorCode::kConflict,
                                  "the daemon" + who + " runs as another account; only it or root "
                                  "may end it"});
  }
  if (!wait_until_gone(*pid, kStopPatience)) {
    return report_error(context, {ErrorCode::kConflict, "the daemon (pid " + std::to_string(*pid) +
                                                            ") has not ended yet; see its log"});
  }
  context.out << "the daemon (pid " << *pid << ") has ended";
  if (info && info->jobs_running > 0) {
    context.out << "; " << report::counted(info->jobs_running, "job goes", "jobs go")
                << " on, and `rota serve` finds "
                << (info->jobs_running == 1 ? "it" : "them") << " again";
    if (!info->state_directory.empty()) context.out << " (state " << info->state_directory << ")";
  }
  context.out << "\n";
  return kExitOk;
}

}  // namespace

Runner declare_serve(CLI::App& app, Context& context) {
  auto command = std::make_shared<ServeCommand>();
  const auto add = [&](const char* name, std::string& field, const char* help, const char* type,
                       const char* group) {
    app.add_option(name, field, help)->type_name(type)->group(group);
  };
  add("--simulate", command->serve.simulate, "made-up GPUs: 8xh100, 2x4xh100", "SHAPE", "Devices");
  add("--devices", command->serve.devices, "made-up GPUs from a file", "FILE", "Devices");
  add("--state", command->serve.state, "folder of journal, logs and token", "DIR", "Places");
  add("--socket", command->serve.socket, "Unix socket for this machine's people", "PATH",
      "Places");
  add("--port", command->port, "loopback port of the HTTP API; 0: any free one; off: none", "N",
      "Places");
  add("--listen", command->serve.listen, "the same as an address: 127.0.0.1:7682, off", "ADDRESS",
      "Places");
  add("--config", command->serve.config, "configuration (default: rota.yaml, if there)", "FILE",
      "Places");
  add("--log-level", command->serve.log_level, "trace, debug, info, warning, error, off", "LEVEL",
      "How");
  app.add_flag("--accept-loss", command->serve.accept_loss,
               "go on though the journal has lost its end")
      ->group("How");
  app.add_flag("--foreground", command->foreground, "stay in this terminal (default)")
      ->group("How");
  app.add_flag("--background", command->background, "return when the daemon answers")
      ->group("How");
  return [command, &context](const Parsed&) {
    if (command->foreground && command->background) {
      return report_error(context, {ErrorCode::kInvalidArgument,
                                    "--foreground and --background exclude each other"});
    }
    for (const auto& [option, file] :
         {std::pair("--config", &command->serve.config), {"--devices", &command->serve.devices}}) {
      if (file->empty()) continue;
      if (const auto readable = open_to_read(*file); !readable) {
        return report_error(context, usage_error(readable.error().message, option));
      }
    }
    if (!command->port.empty()) {
      if (!command->serve.listen.empty()) {
        return report_error(context, {ErrorCode::kInvalidArgument,
                                      "--port and --listen say the same; give one of them"});
      }
      command->serve.listen = command->port;
    }
    return command->background ? serve_behind(context, *command) : serve_here(context, *command);
  };
}

Runner declare_stop(CLI::App& app, Context& context) {
  auto common = add_common(app, OutputFlags::kNone);
  return [common, &context](const Parsed&) { return stop_daemon(context, *common); };
}

}  // namespace rota::cli
