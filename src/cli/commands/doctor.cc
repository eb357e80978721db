#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/text.h"
#include "cli/app.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/process.h"
#include "report/words.h"
#include "server/config.h"
#include "telemetry/open_driver.h"

namespace rota::cli {
namespace {

namespace fs = std::filesystem;

/// One thing looked at. state: ok, note (works, but worth knowing), wrong.
struct Check {
  std::string name;
  std::string state;
  std::string detail;
  std::string next;  // what to do about it; empty: nothing

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("state", self.state);
    visit("detail", self.detail);
    visit("next", self.next);
  }
};

Check check_program() {
  const fs::path program = own_program();
  std::error_code failed;
  for (const fs::path& shim : {program.parent_path() / "rota-shim",
                               program.parent_path().parent_path() / "libexec" / "rota-shim"}) {
    if (fs::exists(shim, failed)) return {"program", "ok", program.string(), ""};
  }
  return {"program", "wrong", "rota-shim is neither beside " + program.string() + " nor in libexec",
          "install both programs of Rota together"};
}

/// In plain words, and without what to do, which has a place of its own.
std::string without_driver(const Error& error) {
  if (error.code == ErrorCode::kNotFound) {
    return "none found: NVIDIA's driver (libnvidia-ml.so.1) is not installed here, or sees none";
  }
  return error.message.substr(0, error.message.find("; without GPUs, "));
}

Check check_devices(bool daemon_has_gpus) {
  const auto driver = telemetry::open_driver({});
  if (!driver) {
    return {"gpus", "note", without_driver(driver.error()),
            daemon_has_gpus ? "" : "rota serve --simulate 8xh100"};
  }
  std::size_t count = 0;
  if (const auto nodes = (*driver)->discover()) {
    for (const NodeSpec& node : *nodes) count += node.devices.size();
  }
  return {"gpus", "ok", std::to_string(count) + " found by " + (*driver)->describe(), ""};
}

Check check_config() {
  const auto config = server::find_config("");
  if (!config) {
    return {"configuration", "wrong", config.error().where + ": " + config.error().message,
            "correct the file"};
  }
  return {"configuration", "ok",
          config->origin.empty() ? "built-in defaults (no rota.yaml)" : config->origin, ""};
}

/// That of the daemon that answers; without one, of the next that starts here.
Check check_state_folder(const Result<api::Server>& info) {
  const bool known = info && !info->state_directory.empty();
  const std::string state = known ? info->state_directory : server::default_state_directory();
  std::error_code failed;
  if (!fs::exists(state, failed)) {
    if (known) return {"state", "ok", state + " (not to be seen from this account)", ""};
    return {"state", "ok", state + " (made at the first start)", ""};
  }
  if (::access(state.c_str(), W_OK | X_OK) != 0) {
    // A daemon of another account keeps its folder to itself.
    if (known) return {"state", "ok", state + " (another account's)", ""};
    return {"state", "wrong", state + " is not writable for this account",
            "choose another with --state, or change its owner"};
  }
  const auto space = fs::space(state, failed);
  if (!failed && space.available < 100ULL * 1024 * 1024) {
    return {"state", "wrong", state + " has less than 100 MiB free", "make room"};
  }
  return {"state", "ok", state, ""};
}

Check check_cgroups() {
  std::error_code failed;
  if (!fs::exists("/sys/fs/cgroup/cgroup.controllers", failed)) {
    return {"cgroups", "note", "no unified cgroup tree: jobs are kept together as process trees",
            ""};
  }
  const bool writable = ::access("/sys/fs/cgroup/cgroup.procs", W_OK) == 0;
  return {"cgroups", "ok",
          writable ? "each job gets a cgroup of its own"
                   : "not ours to divide: jobs are kept together as process trees",
          ""};
}

std::string age_of(const api::Server& info) {
  return info.devices + (info.simulated ? " (SIMULATED)" : "") + ", " +
         number_text(info.gpus_used) + " of " + number_text(info.gpus_total) + " GPUs used, " +
         report::counted(info.jobs_running, "job runs", "jobs run") + ", " +
         report::counted(info.jobs_pending, "waits", "wait");
}

void check_daemon(const http::Client& client, const Result<api::Server>& info,
                  std::vector<Check>& checks) {
  if (!info) {
    const bool away = info.error().code == ErrorCode::kUnavailable;
    checks.push_back({"daemon", "wrong", info.error().message,
                      away ? "rota serve" : "see the daemon's log"});
    return;
  }
  checks.push_back({"daemon", "ok", "version " + info->version + " at " + client.where(), ""});
  checks.push_back({"cluster", "ok", age_of(*info), ""});
  if (info->version != kVersion) {
    checks.push_back({"versions", "note", "this program is " + std::string(kVersion) +
                                              ", the daemon " + info->version,
                      "restart the daemon; jobs go on"});
  }
  if (!info->healthy && info->problems.empty()) {
    checks.push_back({"health", "wrong", "the daemon says that it is not healthy", "see its log"});
  }
  for (const std::string& problem : info->problems) {
    checks.push_back({"health", info->healthy ? "note" : "wrong", problem, ""});
  }
}

ListView<Check> check_view() {
  ListView<Check> view{.key = "checks",
                       .name = [](const Check& check) { return check.name; },
                       .empty = ""};
  view.columns = {
      {"CHECK", [](const Check& check) { return Cell{check.name}; }},
      {"STATE",
       [](const Check& check) {
         const Tone tone = check.state == "ok"     ? Tone::kGood
                           : check.state == "note" ? Tone::kWarning
                                                   : Tone::kBad;
         return Cell{check.state, tone};
       }},
      {"WHAT",
       [](const Check& check) {
         std::string text = check.detail;
         std::replace(text.begin(), text.end(), '\n', ' ');
         return Cell{check.next.empty() ? text : text + "; next: " + check.next};
       }},
  };
  return view;
}

}  // namespace

Runner declare_doctor(CLI::App& app, Context& context) {
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, &context](const Parsed&) {
    return with_client(context, *common, [&](http::Client& client) {
      const auto info = client.server_info();
      std::vector<Check> checks{check_program(), check_devices(info && info->gpus_total > 0),
                                check_config(), check_state_folder(info), check_cgroups()};
      check_daemon(client, info, checks);
      print_list(context, common->output, checks, check_view());
      const bool wrong = std::any_of(checks.begin(), checks.end(), [](const Check& check) {
        return check.state == "wrong";
      });
      return wrong ? kExitFailed : kExitOk;
    });
  };
}

}  // namespace rota::cli
