#include "cli/signals.h"

#include <array>
#include <csignal>
#include <utility>
#include <vector>

#include "base/text.h"

namespace rota::cli {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 20> kSignals{{
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT}, {"BUS", SIGBUS},
    {"FPE", SIGFPE},   {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CHLD", SIGCHLD}, {"CONT", SIGCONT},
    {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"URG", SIGURG},   {"XCPU", SIGXCPU}, {"ILL", SIGILL},
}};

}  // namespace

Result<int> parse_signal(std::string_view text) {
  if (const auto number = parse_int(text); number && *number >= 1 && *number <= 64) {
    return static_cast<int>(*number);
  }
  std::string upper;
  for (const char c : text) upper += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (upper.starts_with("SIG")) upper.erase(0, 3);
  std::vector<std::string> names;
  for (const auto& [name, number] : kSignals) {
    if (name == upper) return number;
    names.emplace_back(name);
  }
  std::string message = "'" + std::string(text) + "' is no signal";
  const std::string_view near = nearest_word(upper, names);
  if (!near.empty()) message += "; did you mean " + std::string(near) + "?";
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

std::string signal_name(int number) {
  for (const auto& [name, value] : kSignals) {
    if (value == number) return "SIG" + std::string(name);
  }
  return "signal " + std::to_string(number);
}

}  // namespace rota::cli
