// How a command reaches the daemon.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/context.h"
#include "cli/output.h"
#include "http/client.h"

namespace rota::cli {

/// Options that every command with a daemon behind it has.
struct Common {
  std::string socket;     // --socket
  std::string url;        // --url, with the token in ROTA_TOKEN
  OutputOptions output;
};

enum class OutputFlags { kNone, kFormats };  // kFormats: -o, --json, --no-headers

/// Declares them on `app`. The result lives as long as the runner that holds it.
[[nodiscard]] std::shared_ptr<Common> add_common(CLI::App& app, OutputFlags output,
                                                 std::string_view formats = kAllFormats);
/// -o, --json and --no-headers alone, for commands without a daemon. `formats` are those that the
/// command has, like table|json.
void add_output_options(CLI::App& app, OutputOptions& output,
                        std::string_view formats = kAllFormats);

/// --socket, $ROTA_SOCKET, --url, $ROTA_URL; else the socket of this account's daemon, else that of
/// the machine's.
[[nodiscard]] http::Endpoint endpoint_of(const Context& context, const Common& common);

/// Checks the output format, connects, runs `work`. Its exit code is the command's.
int with_client(Context& context, const Common& common,
                const std::function<int(http::Client&)>& work);

/// The error, and for a missing daemon what to do about it. Returns the exit code.
int report_daemon_error(Context& context, const http::Client& client, const Error& error);

/// Repeats `once`, which prints with `output`, every two seconds until it fails or nobody reads any
/// more. Of a table a terminal shows one page that is drawn anew; elsewhere a line "--- TIME"
/// stands before each. Documents follow each other: json one a line, yaml behind `---`, csv and
/// names behind an empty line.
int watch(Context& context, OutputOptions& output, const std::function<int()>& once);

void print_warnings(Context& context, const std::vector<std::string>& warnings);

}  // namespace rota::cli
