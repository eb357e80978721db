// Processes beside this one: a daemon in the background, and whoever listens on a socket.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace rota::cli {

/// Path of this program.
[[nodiscard]] std::string own_program();

/// Runs `argv` in a session of its own, with output and errors appended to `log`. Value: its pid.
[[nodiscard]] Result<pid_t> spawn_detached(const std::vector<std::string>& argv,
                                           const std::string& log);

/// How a program ended that ran to its end.
struct ProgramEnd {
  int code = 0;        // its exit code; 128 + n when signal n ended it
  std::string errors;  // what it wrote there, at most 64 KiB
};

/// Runs the program that is found as argv[0] on PATH and waits for it: no shell, standard input
/// empty, standard output into the file `output`. `environment` holds further variables as
/// `NAME=value`; `NAME` alone takes one away. Errors: kNotFound (no such program), kTimeout (it was
/// ended after `patience`), kUnavailable.
[[nodiscard]] Result<ProgramEnd> run_program(const std::vector<std::string>& argv, int output,
                                             const std::vector<std::string>& environment,
                                             std::chrono::seconds patience);
/// Runs `command` by /bin/sh with `input` on its standard input, its output on our errors, and
/// waits for it. Value: its exit code, 128+n when signal n ended it. Errors: kTimeout (it and what
/// it started were killed after `patience`), kUnavailable.
[[nodiscard]] Result<int> run_shell(const std::string& command, const std::string& input,
                                    std::chrono::milliseconds patience);

/// The process that listens on the Unix socket, as the kernel says. Errors: kUnavailable (nobody
/// listens), kDenied.
[[nodiscard]] Result<pid_t> listener_of(const std::string& socket_path);

/// True when the process is gone within `patience`.
[[nodiscard]] bool wait_until_gone(pid_t pid, std::chrono::milliseconds patience);

}  // namespace rota::cli
