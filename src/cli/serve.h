// The daemon as a process: devices, back-end, journal, doors, signals, in the order they depend on
// each other.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/context.h"

namespace rota::cli {

struct ServeOptions {
  std::string simulate;          // "2x4xh100"; empty: real devices
  std::string devices;           // a file of devices; empty: none
  std::string state;             // folder; empty: from configuration, else the standard place
  std::string socket;            // path; the same
  std::string listen;            // "127.0.0.1:7682", "7682", "off"; empty: from configuration
  std::string config;            // file; empty: the search order of rota.yaml
  std::string log_level = "info";
  bool accept_loss = false;      // go on with a journal that has lost its end
};

/// What the starter of the daemon wants to know.
struct Ready {
  std::string banner;
  std::string state_directory;
  std::string socket;
};

/// Runs until SIGTERM or SIGINT, then stops cleanly; jobs go on. `ready` is called once, when both
/// doors are open. Error: what could not be set up; nothing is left open then.
[[nodiscard]] Status serve(Context& context, const ServeOptions& options,
                           const std::function<void(const Ready&)>& ready);

/// `127.0.0.1:7682`, `:7682`, `7682`, `0`, `off` (absent). Only loopback is allowed.
[[nodiscard]] Result<std::optional<std::uint16_t>> parse_listen(std::string_view text);

}  // namespace rota::cli
