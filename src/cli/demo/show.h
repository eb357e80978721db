// What the demonstration shows while it runs: plain lines, and on a terminal a table below them
// that is drawn anew.
#pragma once

#include <string>
#include <vector>

#include "api/v1/cluster.h"
#include "api/v1/job.h"
#include "cli/context.h"

namespace rota::cli {

class DemoShow {
 public:
  explicit DemoShow(Context& context) : context_(context) {}

  /// A line that stays, with the seconds since the start.
  void say(double seconds, std::string_view text, bool story);
  /// The table: one line a job with a bar of its time. Nothing without a terminal.
  void draw(double seconds, const std::vector<api::Job>& jobs,
            const std::vector<api::Device>& gpus);
  /// Takes the table away.
  void clear();

 private:
  Context& context_;
  int lines_drawn_ = 0;
};

/// "sim1 [1144] sim2 [2233]": which job holds which GPU; '.' is free.
[[nodiscard]] std::string gpu_map(const std::vector<api::Device>& gpus);

}  // namespace rota::cli
