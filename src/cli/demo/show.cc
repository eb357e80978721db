#include "cli/demo/show.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/output.h"
#include "cli/time_text.h"
#include "cli/views.h"

namespace rota::cli {
namespace {

constexpr std::size_t kBarWidth = 14;

std::string clock_text(double seconds) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%6.1fs", seconds);
  return buffer.data();
}

std::string bar_of(const api::Job& job) {
  if (job.state == "pending" || !job.run_seconds) return std::string(kBarWidth, ' ');
  if (is_final_state(job.state)) return report::bar(1, 1, kBarWidth);
  const double limit = job.time_limit_seconds.value_or(60);
  const double part = std::min(1.0, *job.run_seconds / std::max(limit, 1.0));
  return report::bar(static_cast<std::int64_t>(part * 100), 100, kBarWidth);
}

std::string where_text(const api::Job& job) {
  if (is_final_state(job.state)) return job.end_cause == "exited" ? "" : job.end_cause;
  if (job.state == "pending") return job.reason;
  return places_text(job.places);
}

}  // namespace

std::string gpu_map(const std::vector<api::Device>& gpus) {
  std::string text;
  std::string node;
  for (const api::Device& gpu : gpus) {
    if (gpu.node != node) {
      if (!node.empty()) text += "] ";
      text += gpu.node + " [";
      node = gpu.node;
    } else {
      text += " ";
    }
    std::string holders;
    for (const std::string& job : gpu.jobs) holders += (holders.empty() ? "" : "+") + job;
    text += holders.empty() ? "." : holders;
  }
  return node.empty() ? text : text + "]";
}

void DemoShow::say(double seconds, std::string_view text, bool story) {
  clear();
  const std::string line = clock_text(seconds) + "  " + (story ? "> " : "  ") + std::string(text);
  context_.out << paint(context_, line, story ? Tone::kAccent : Tone::kPlain) << std::endl;
}

void DemoShow::draw(double seconds, const std::vector<api::Job>& jobs,
                    const std::vector<api::Device>& gpus) {
  if (!context_.out_is_terminal) return;
  report::Table table({{"JOB"}, {"NAME"}, {"TEAM"}, {"STATE"}, {"GPUS", Align::kRight},
                       {"TIME LIMIT USED"}, {"WHERE, WHY"}});
  for (const api::Job& job : jobs) {
    table.add_row({{job.id},
                   {job.name},
                   {job.queue},
                   {job.state, state_tone(job.state)},
                   {number_text(job.gpus_total)},
                   {bar_of(job), state_tone(job.state)},
                   {where_text(job)}});
  }
  const std::string text = "\n" + table.text(table_style(context_, {})) + "\n" +
                           clock_text(seconds) + "  " + gpu_map(gpus) + "\n";
  clear();
  context_.out << text << std::flush;
  lines_drawn_ = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

void DemoShow::clear() {
  if (lines_drawn_ > 0) context_.out << "\033[" << lines_drawn_ << "A\033[J";
  lines_drawn_ = 0;
}

}  // namespace rota::cli
