#include "cli/serve.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <memory>
#include <utility>

#include "backend/local/local_backend.h"
#include "base/text.h"
#include "cli/app.h"
#include "http/server.h"
#include "http/token.h"
#include "report/words.h"
#include "server/daemon.h"
#include "telemetry/open_driver.h"

namespace rota::cli {
namespace {

sigset_t end_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

Status set_up_log(const std::string& level) {
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    return Error{ErrorCode::kInvalidArgument, "--log-level '" + level + "': expected trace, debug, "
                                              "info, warning, error or off"};
  }
  auto logger = std::make_shared<spdlog::logger>(
      "rota", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(parsed);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

Result<std::shared_ptr<telemetry::DeviceDriver>> open_devices(const ServeOptions& options) {
  if (!options.simulate.empty() && !options.devices.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--simulate and --devices both make up devices; "
                                              "give one of them"};
  }
  telemetry::DriverOptions driver;
  driver.simulate = options.devices.empty() ? options.simulate : "@" + options.devices;
  auto opened = telemetry::open_driver(driver);
  if (opened) return std::shared_ptr<telemetry::DeviceDriver>(std::move(*opened));
  Error error = opened.error();
  if (driver.simulate.empty()) {
    error.message += "\nTo try Rota without GPUs, make some up: rota serve --simulate 8xh100";
    error.code = ErrorCode::kUnsupported;
  }
  return error;
}

std::int64_t gpu_count(telemetry::DeviceDriver& driver) {
  const auto nodes = driver.discover();
  std::int64_t count = 0;
  if (!nodes) return 0;
  for (const NodeSpec& node : *nodes) count += static_cast<std::int64_t>(node.devices.size());
  return count;
}

/// Everything the daemon is made of; members end in the reverse order.
struct Parts {
  std::shared_ptr<telemetry::DeviceDriver> driver;
  std::unique_ptr<server::Daemon> daemon;
  std::unique_ptr<http::HttpServer> doors;
  std::string state;
  std::string socket;
  std::string token_path;
};

Status make_daemon_part(const ServeOptions& options, server::Config config, Parts& parts) {
  auto driver = open_devices(options);
  if (!driver) return driver.error();
  parts.driver = *driver;
  auto backend =
      backend::LocalBackend::open({.state_dir = parts.state, .shim = {}}, parts.driver);
  if (!backend) return backend.error();
  backend::LocalBackend* local = backend->get();
  server::DaemonOptions daemon;
  daemon.state_directory = parts.state;
  daemon.config = std::move(config);
  daemon.loss = options.accept_loss ? store::Loss::kAccept : store::Loss::kRefuse;
  daemon.backend = std::move(*backend);
  daemon.backend_name = "local";
  daemon.devices_name = parts.driver->describe();
  daemon.devices_simulated = parts.driver->simulated();
  daemon.readings = [local] { return local->readings(); };
  daemon.version = kVersion;
  auto made = server::make_daemon(std::move(daemon));
  if (!made) return made.error();
  parts.daemon = std::move(*made);
  return parts.daemon->start();
}

/// Opens both doors. A port that only the defaults chose may be taken: then any free one serves.
Status open_doors(std::optional<std::uint16_t> port, bool any_port_will_do, Parts& parts) {
  http::ServerOptions options;
  options.socket_path = parts.socket;
  options.port = port;
  options.version = kVersion;
  if (port) {
    const auto token = http::load_or_make_token(parts.token_path);
    if (!token) return token.error();
    options.token = *token;
  }
  parts.doors = std::make_unique<http::HttpServer>(parts.daemon->service(), options);
  Status status = parts.doors->start();
  if (!status && any_port_will_do && status.error().message.find("--listen") != std::string::npos) {
    options.port = 0;
    parts.doors = std::make_unique<http::HttpServer>(parts.daemon->service(), options);
    status = parts.doors->start();
  }
  if (status) parts.daemon->set_url(parts.doors->url());
  return status;
}

std::string banner_of(const Parts& parts, const server::Config& config) {
  const std::int64_t gpus = gpu_count(*parts.driver);
  std::string text = "Rota " + std::string(kVersion) + " schedules " +
                     report::counted(gpus, "GPU") + " (" + parts.driver->describe() + ")\n";
  if (parts.driver->simulated()) {
    text += "  devices  SIMULATED: jobs are real processes, the GPUs are not\n";
  }
  text += "  state    " + parts.state + "\n  socket   " + parts.socket + "\n";
  if (parts.doors->port() != 0) {
    text += "  http     " + parts.doors->url() + " (token in " + parts.token_path + ")\n";
  }
  text += "  config   " + (config.origin.empty() ? "built-in defaults" : config.origin) + "\n";
  return text;
}

void wait_for_end() {
  const sigset_t set = end_signals();
  int number = 0;
  while (::sigwait(&set, &number) != 0) {
  }
  spdlog::info("signal {}: stopping; jobs go on", number);
}

}  // namespace

Result<std::optional<std::uint16_t>> parse_listen(std::string_view text) {
  if (text == "off") return std::optional<std::uint16_t>();
  std::string_view digits = text;
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    const std::string_view host = text.substr(0, colon);
    digits = text.substr(colon + 1);
    if (!host.empty() && host != "127.0.0.1" && host != "localhost" && host != "[::1]") {
      return Error{ErrorCode::kInvalidArgument,
                   "listen '" + std::string(text) + "': only loopback (127.0.0.1) is allowed; "
                   "reach it from elsewhere through ssh -L"};
    }
  }
  const auto port = parse_int(digits);
  if (!port || *port < 0 || *port > 65535) {
    return Error{ErrorCode::kInvalidArgument, "listen '" + std::string(text) +
                                                  "': expected 127.0.0.1:PORT, PORT or off"};
  }
  return std::optional<std::uint16_t>(static_cast<std::uint16_t>(*port));
}

Status serve(Context& context, const ServeOptions& options,
             const std::function<void(const Ready&)>& ready) {
  (void)context;
  if (auto status = set_up_log(options.log_level); !status) return status;
  auto config = server::find_config(options.config);
  if (!config) return config.error();
  const auto first_of = [](const std::string& a, const std::string& b, const std::string& c) {
    return !a.empty() ? a : !b.empty() ? b : c;
  };
  const auto port = parse_listen(options.listen.empty() ? config->listen : options.listen);
  if (!port) return port.error();
  const bool default_port = options.listen.empty() && config->listen == server::Config().listen;

  Parts parts;
  parts.state = first_of(options.state, config->state_directory,
                         server::default_state_directory());
  parts.socket = first_of(options.socket, config->socket, server::default_socket_path());
  parts.token_path = parts.state + "/token";
  // All threads made below inherit the mask, so that only wait_for_end() sees these signals.
  const sigset_t set = end_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  if (auto status = make_daemon_part(options, *config, parts); !status) return status;
  if (auto status = open_doors(*port, default_port, parts); !status) {
    parts.daemon->stop();
    return status;
  }
  ready({banner_of(parts, *config), parts.state, parts.socket});
  wait_for_end();
  parts.doors->stop();
  parts.daemon->stop();
  spdlog::info("stopped");
  return {};
}

}  // namespace rota::cli
