#include "cli/connect.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/exit_codes.h"
#include "cli/time_text.h"
#include "server/config.h"

namespace rota::cli {
namespace {

constexpr std::chrono::seconds kWatchEvery{2};
constexpr const char* kMachineSocket = "/run/rota/rota.sock";

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

}  // namespace

void add_output_options(CLI::App& app, OutputOptions& output, std::string_view formats) {
  output.formats = formats;
  app.add_option("-o,--output", output.format_text, "form of the output (default table)")
      ->type_name(std::string(formats))
      ->group("Output");
  app.add_flag("--json", output.json, "the same as -o json")->group("Output");
  if (formats == kAllFormats) {
    app.add_flag("--no-headers", output.no_headers, "leave out the headings")->group("Output");
  }
}

std::shared_ptr<Common> add_common(CLI::App& app, OutputFlags output, std::string_view formats) {
  auto common = std::make_shared<Common>();
  if (output == OutputFlags::kFormats) add_output_options(app, common->output, formats);
  app.add_option("--socket", common->socket, "the daemon's socket (default: $ROTA_SOCKET)")
      ->type_name("PATH")
      ->group("Daemon");
  app.add_option("--url", common->url, "the daemon's HTTP address, with $ROTA_TOKEN")
      ->type_name("URL")
      ->group("Daemon");
  return common;
}

http::Endpoint endpoint_of(const Context& context, const Common& common) {
  http::Endpoint endpoint;
  const auto over_url = [&](const std::string& url) {
    endpoint.url = url;
    endpoint.token = context.variable("ROTA_TOKEN").value_or("");
    return endpoint;
  };
  if (!common.socket.empty()) {
    endpoint.socket_path = common.socket;
    return endpoint;
  }
  if (!common.url.empty()) return over_url(common.url);
  if (const auto path = context.variable("ROTA_SOCKET")) {
    endpoint.socket_path = *path;
    return endpoint;
  }
  if (const auto url = context.variable("ROTA_URL")) return over_url(*url);
  endpoint.socket_path = server::default_socket_path();
  if (!exists(endpoint.socket_path) && exists(kMachineSocket)) {
    endpoint.socket_path = kMachineSocket;
  }
  return endpoint;
}

int with_client(Context& context, const Common& common,
                const std::function<int(http::Client&)>& work) {
  if (const auto format = common.output.format(); !format) {
    return report_error(context, format.error());
  }
  http::Client client(endpoint_of(context, common));
  return work(client);
}

int report_daemon_error(Context& context, const http::Client& client, const Error& error) {
  const int code = report_error(context, error);
  if (error.code == ErrorCode::kUnavailable && client.daemon_version().empty()) {
    context.err << "To see a daemon at work, with made-up GPUs: rota demo\n";
  }
  return code;
}

namespace {

void begin_page(Context& context, Format format, bool first) {
  switch (format) {
    case Format::kJson: return;
    case Format::kYaml: context.out << "---\n"; return;
    case Format::kCsv:
    case Format::kName: context.out << (first ? "" : "\n"); return;
    case Format::kTable:
    case Format::kWide:
    case Format::kHtml: break;
  }
  if (context.out_is_terminal) {
    context.out << "\033[H\033[2J";
  } else {
    context.out << "--- " << iso_time(context.now_seconds()) << "\n";
  }
}

}  // namespace

int watch(Context& context, OutputOptions& output, const std::function<int()>& once) {
  const auto format = output.format();
  if (!format) return report_error(context, format.error());
  output.one_line = true;
  for (bool first = true;; first = false) {
    begin_page(context, *format, first);
    if (const int code = once(); code != kExitOk) return code;
    context.out.flush();
    if (!context.out.good()) return kExitOk;
    std::this_thread::sleep_for(kWatchEvery);
  }
}

void print_warnings(Context& context, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) context.err << "warning: " << warning << "\n";
}

}  // namespace rota::cli
