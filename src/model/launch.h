// How to run a job: everything the back-end needs and the engine does not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/fields.h"

namespace rota {

struct LaunchSpec {
  std::string name;                     // for people; "train.sh"
  std::vector<std::string> argv;        // empty: run `script`
  std::string script;                   // whole text with its #! line
  std::vector<std::string> script_args;
  std::map<std::string, std::string> env;  // the job's environment before Rota's own variables
  std::string workdir;
  std::string stdout_path;              // patterns %j %A %a %x %N %t expanded by the back-end
  std::string stderr_path;              // empty: together with stdout
  bool append_output = false;
  std::int64_t stop_signal = 15;        // SIGTERM
  std::optional<Duration> grace;        // between the signal and the kill; absent: the server's
  std::int64_t warn_signal = 0;         // sent before the time limit; 0: none
  Duration warn_before;                 // how long before the limit
  bool slurm_style = false;             // submitted the Slurm way: SLURM_* variables are set
  std::string user;                     // Unix account it runs as
  std::int64_t uid = -1;                // -1: the daemon's own
  std::int64_t gid = -1;
  std::string array_spec;               // as asked for, for SLURM_ARRAY_* and ls
  std::string comment;

  friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("argv", self.argv);
    visit("script", self.script);
    visit("script_args", self.script_args);
    visit("env", self.env);
    visit("workdir", self.workdir);
    visit("stdout_path", self.stdout_path);
    visit("stderr_path", self.stderr_path);
    visit("append_output", self.append_output);
    visit("stop_signal", self.stop_signal);
    visit("grace", self.grace);
    visit("warn_signal", self.warn_signal);
    visit("warn_before", self.warn_before);
    visit("slurm_style", self.slurm_style);
    visit("user", self.user);
    visit("uid", self.uid);
    visit("gid", self.gid);
    visit("array_spec", self.array_spec);
    visit("comment", self.comment);
  }
};

}  // namespace rota
