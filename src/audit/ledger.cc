#include "audit/ledger.h"

namespace rota::audit {
namespace {

constexpr std::array<std::string_view, kLines> kWords{
    "busy",      "idle",      "completed_unmeasured", "running_unmeasured",
    "failed",    "out_of_memory", "time_limit",       "cancelled",
    "preempted", "requeued",  "node_failed",          "unknown"};
constexpr std::array<std::string_view, kLines> kNames{
    "busy (measured)",
    "held, but idle (measured)",
    "completed (busy or not: not told)",
    "still running (busy or not: not told)",
    "failed",
    "out of memory",
    "stopped at the time limit",
    "cancelled",
    "preempted",
    "requeued",
    "lost with a node",
    "end not told"};

Line line_of(End end) {
  switch (end) {
    case End::kCompleted: return Line::kCompleted;
    case End::kRunning: return Line::kRunning;
    case End::kFailed: return Line::kFailed;
    case End::kOutOfMemory: return Line::kOutOfMemory;
    case End::kTimeLimit: return Line::kTimeLimit;
    case End::kCancelled: return Line::kCancelled;
    case End::kPreempted: return Line::kPreempted;
    case End::kRequeued: return Line::kRequeued;
    case End::kNodeFailed: return Line::kNodeFailed;
    case End::kUnknown:
    case End::kPending:
    case End::kRejected: return Line::kUnknown;
  }
  return Line::kUnknown;
}

void book(Ledger& ledger, Line line, GpuTime gpu_time) {
  LedgerLine& to = ledger.lines[static_cast<std::size_t>(line)];
  to.gpu_time += gpu_time;
  ++to.runs;
}

void book_run(Ledger& ledger, const WorkRun& run, GpuTime held) {
  ledger.held += held;
  if (run.busy_permille >= 0) ledger.measured += held;
  const Line line = line_of(run.end);
  if (run.busy_permille < 0 || is_lost(line)) return book(ledger, line, held);
  const GpuTime busy = held * run.busy_permille / 1000;
  book(ledger, Line::kBusy, busy);
  book(ledger, Line::kIdle, held - busy);
}

}  // namespace

std::string_view line_word(Line line) { return kWords[static_cast<std::size_t>(line)]; }
std::string_view line_name(Line line) { return kNames[static_cast<std::size_t>(line)]; }

bool is_lost(Line line) { return line >= Line::kFailed && line <= Line::kNodeFailed; }

GpuTime Ledger::lost() const {
  GpuTime sum = 0;
  for (int i = 0; i < kLines; ++i) {
    if (is_lost(static_cast<Line>(i))) sum += lines[static_cast<std::size_t>(i)].gpu_time;
  }
  return sum;
}

Ledgers measure_ledger(const Work& work, const Window& window) {
  Ledgers out;
  out.by_team.resize(work.owners.size());
  for (const WorkRun& run : work.runs) {
    if (run.held_milli == 0) ++out.without_gpus;
    if (run.held_milli == 0) continue;
    if (run.held_milli < 0 && run.run != kNotTold && run.run > 0) ++out.gpus_unknown;
    if (run.started != kNotTold && run.run == kNotTold) ++out.length_unknown;
    const GpuTime held = gpu_time_inside(work, run, window);
    if (held <= 0) continue;
    book_run(out.all, run, held);
    book_run(out.by_team[work.job_of(run).owner], run, held);
    if (run.busy_permille >= 0) out.busy += held * run.busy_permille / 1000;
  }
  return out;
}

}  // namespace rota::audit
