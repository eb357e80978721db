#include "cli/context.h"

#include <poll.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "base/text.h"
#include "cli/exit_codes.h"

extern char** environ;

namespace rota::cli {

std::optional<std::string> Context::variable(const std::string& name) const {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

namespace {

std::string account_name(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(uid);
}

int terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

Context process_context() {
  Context context{.out = std::cout, .err = std::cerr};
  context.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  context.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    context.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  context.color = context.out_is_terminal && !context.variable("NO_COLOR") &&
                  context.variable("TERM").value_or("dumb") != "dumb";
  context.width = terminal_width();
  context.now_seconds = [] { return static_cast<std::int64_t>(std::time(nullptr)); };
  context.reader_left = [] {
    pollfd output{STDOUT_FILENO, POLLOUT, 0};
    return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
  };
  context.uid = static_cast<std::int64_t>(::getuid());
  context.user = account_name(::getuid());
  std::error_code failed;
  context.directory = std::filesystem::current_path(failed).string();
  return context;
}

int report_error(Context& context, const Error& error) {
  context.out.flush();
  context.err << "rota: ";
  if (!error.where.empty()) context.err << without_control(error.where) << ": ";
  std::string_view message = error.message;  // words of others may be in it
  for (std::size_t end = message.find('\n'); end != message.npos; end = message.find('\n')) {
    context.err << without_control(message.substr(0, end)) << "\n";
    message.remove_prefix(end + 1);
  }
  context.err << without_control(message) << "\n";
  context.err.flush();
  return exit_code_of(error.code);
}

}  // namespace rota::cli
