// The demonstration: a daemon of its own, a story of a dozen real processes, what to try next.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/demo/show.h"
#include "cli/demo/story.h"
#include "cli/exit_codes.h"
#include "cli/process.h"
#include "cli/submission.h"
#include "cli/views.h"
#include "report/words.h"
#include "server/config.h"
#include "telemetry/open_driver.h"

namespace rota::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr const char* kShape = "2x4xh100";
constexpr double kPatienceSeconds = 100;
constexpr std::chrono::milliseconds kTick{200};

struct DemoOptions {
  bool to_the_end = false;
  std::string simulate;
  std::string port = "0";
};

Error failed(std::string message) { return {ErrorCode::kConflict, std::move(message)}; }

std::string tail_of(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(input), {}};
  return text.size() > 2000 ? text.substr(text.size() - 2000) : text;
}

/// The daemon of one demonstration, in a folder of its own.
class DemoDaemon {
 public:
  DemoDaemon() = default;
  DemoDaemon(const DemoDaemon&) = delete;
  DemoDaemon& operator=(const DemoDaemon&) = delete;

  Status start(const std::string& simulate, const std::string& port, bool default_socket) {
    std::string pattern = std::filesystem::temp_directory_path() / "rota-demo-XXXXXX";
    if (pattern.size() > 80) pattern = "/tmp/rota-demo-XXXXXX";  // a socket's path must be short
    if (::mkdtemp(pattern.data()) == nullptr) {
      return failed("cannot make a folder " + pattern + ": " + std::strerror(errno));
    }
    folder_ = pattern;
    std::filesystem::create_directory(folder_ + "/work");
    std::ofstream(folder_ + "/rota.yaml") << story_config();
    socket_ = folder_ + "/rota.sock";
    const std::string standard = server::default_socket_path();
    const auto taken = listener_of(standard);
    at_default_ = default_socket && !taken && taken.error().code == ErrorCode::kUnavailable;
    if (at_default_) socket_ = standard;
    std::vector<std::string> words{own_program(), "serve",    "--state", folder_ + "/state",
                                   "--socket",    socket_,    "--port",  port,
                                   "--config",    folder_ + "/rota.yaml"};
    if (!simulate.empty()) {
      words.emplace_back("--simulate");
      words.push_back(simulate);
    }
    const auto pid = spawn_detached(words, folder_ + "/daemon.log");
    if (!pid) return pid.error();
    pid_ = *pid;
    return wait_for_it();
  }

  /// Ends all jobs and the daemon, and removes the folder.
  void end(http::Client& client, bool remove) {
    server::JobQuery live;
    if (const auto jobs = client.all_jobs(live)) {
      for (const api::Job& job : *jobs) (void)client.command(job.id, "cancel");
    }
    for (int i = 0; i < 50; ++i) {
      const auto jobs = client.all_jobs(live);
      if (!jobs || jobs->empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    stop();
    std::error_code ignored;
    if (remove) std::filesystem::remove_all(folder_, ignored);
  }

  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    if (!wait_until_gone(pid_, std::chrono::seconds(15))) ::kill(pid_, SIGKILL);
    pid_ = -1;
  }

  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] bool at_default() const { return at_default_; }

 private:
  Status wait_for_it() {
    http::Client client({.socket_path = socket_, .url = {}, .token = {}});
    const auto end = SteadyClock::now() + std::chrono::seconds(20);
    while (SteadyClock::now() < end) {
      if (listener_of(socket_) && client.server_info()) return {};
      if (wait_until_gone(pid_, std::chrono::milliseconds(0))) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    const Error error = failed("the daemon did not start; its log says:\n" +
                               tail_of(folder_ + "/daemon.log"));
    stop();
    return error;
  }

  std::string folder_;
  std::string socket_;
  pid_t pid_ = -1;
  bool at_default_ = false;
};

/// Real GPUs when this machine has a number of them that the story can be divided by.
std::string choose_devices(Context& context, const DemoOptions& options) {
  if (!options.simulate.empty()) return options.simulate;
  const auto driver = telemetry::open_driver({});
  if (!driver) {
    context.out << "This machine has no GPU that Rota can see, so the demo uses SIMULATED ones ("
                << kShape << ").\n";
    return kShape;
  }
  std::size_t gpus = 0;
  if (const auto nodes = (*driver)->discover()) {
    for (const NodeSpec& node : *nodes) gpus += node.devices.size();
  }
  if (gpus >= 4 && (gpus & (gpus - 1)) == 0) {
    context.out << "This machine has " << report::counted(static_cast<std::int64_t>(gpus), "GPU")
                << " (" << (*driver)->describe()
                << "): the demo's jobs are placed on them, but do not use them.\n";
    return {};
  }
  context.out << "This machine has " << report::counted(static_cast<std::int64_t>(gpus), "GPU")
              << "; the story needs 4, 8, 16, .. and uses SIMULATED ones (" << kShape
              << "). Yours: `rota serve`.\n";
  return kShape;
}

class Demo {
 public:
  Demo(Context& context, const DemoOptions& options, DemoDaemon& daemon)
      : context_(context), daemon_(daemon), show_(context),
        client_({.socket_path = daemon.socket(), .url = {}, .token = {}}) {
    story_.to_the_end = options.to_the_end;
    story_.workdir = daemon.folder() + "/work";
    for (const char* name : {"PATH", "HOME"}) {
      if (const auto value = context.variable(name)) story_.env[name] = *value;
    }
  }

  int run() {
    const auto devices = client_.devices();
    if (!devices) return report_daemon_error(context_, client_, devices.error());
    story_.gpus = static_cast<double>(devices->size());
    steps_ = story_steps(story_);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    begin_ = SteadyClock::now();
    while (true) {
      if (auto status = tick(); !status) return give_up(status.error());
      if (story_is_over(jobs_, step_, story_)) break;
      if (elapsed() > kPatienceSeconds) {
        return give_up(failed("the story did not reach its end in time; folder " +
                              daemon_.folder()));
      }
      const timespec pause{0, std::chrono::nanoseconds(kTick).count()};
      if (::sigtimedwait(&set, nullptr, &pause) > 0) {
        show_.clear();
        context_.out << "stopping the demo\n";
        daemon_.end(client_, true);
        return 128 + SIGINT;
      }
    }
    show_.clear();
    return story_.to_the_end ? check_end() : say_what_next();
  }

 private:
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(SteadyClock::now() - begin_).count();
  }

  Status tick() {
    while (step_ < steps_.size() && elapsed() >= steps_[step_].at_seconds) {
      StoryStep& step = steps_[step_];
      show_.say(elapsed(), step.words, true);
      step.request.idempotency_key = make_idempotency_key();
      const auto reply = client_.submit(step.request);
      if (!reply) return reply.error();
      ++step_;
    }
    const auto page = client_.events({.after_seq = seen_, .limit = 1000, .job = {}});
    if (!page) return page.error();
    for (const api::Event& event : page->events) {
      seen_ = event.seq;
      if (!event.job.empty()) show_.say(elapsed(), event.message, false);
    }
    server::JobQuery all;
    all.all = true;
    auto jobs = client_.all_jobs(all);
    if (!jobs) return jobs.error();
    jobs_ = std::move(*jobs);
    const auto devices = client_.devices();
    if (!devices) return devices.error();
    show_.draw(elapsed(), jobs_, *devices);
    return {};
  }

  int give_up(const Error& error) {
    show_.clear();
    report_error(context_, error);
    context_.err << "The daemon's log: " << daemon_.folder() << "/daemon.log\n";
    daemon_.end(client_, false);
    return kExitFailed;
  }

  int check_end() {
    bool all_hold = true;
    context_.out << "\nThe story is over; its end state:\n";
    for (const StoryCheck& check : check_story(jobs_)) {
      all_hold = all_hold && check.holds;
      context_.out << "  " << (check.holds ? "ok    " : "WRONG ") << check.words << "\n";
    }
    context_.out << std::flush;
    if (!all_hold) print_list(context_, {}, jobs_, history_view(context_));
    daemon_.end(client_, all_hold);
    if (!all_hold) context_.err << "rota: kept " << daemon_.folder() << "\n";
    return all_hold ? kExitOk : kExitFailed;
  }

  int say_what_next() {
    context_.out << "\nJob 3 runs on and job 7 waits for it. The daemon runs on, too. Try:\n\n";
    if (!daemon_.at_default()) {
      context_.out << "  export ROTA_SOCKET=" << daemon_.socket() << "\n\n";
    }
    context_.out << "  rota ls              what waits and runs\n"
                 << "  rota why 7           why job 7 waits, and when it will start\n"
                 << "  rota gpus            who holds which GPU\n"
                 << "  rota logs -f 3       the output of job 3 as it comes\n"
                 << "  rota history         how the others ended\n"
                 << "  rota run --gpus 1 --time 1m -- echo hello\n"
                 << "  rota cancel 3        then job 7 gets its turn\n"
                 << "  rota stop            end the demo's daemon (its files: " << daemon_.folder()
                 << ")\n";
    return kExitOk;
  }

  Context& context_;
  DemoDaemon& daemon_;
  DemoShow show_;
  http::Client client_;
  StoryOptions story_;
  std::vector<StoryStep> steps_;
  std::vector<api::Job> jobs_;
  std::size_t step_ = 0;
  std::int64_t seen_ = 0;
  SteadyClock::time_point begin_;
};

}  // namespace

Runner declare_demo(CLI::App& app, Context& context) {
  auto options = std::make_shared<DemoOptions>();
  app.add_flag("--exit", options->to_the_end, "run the story through, check it, clean up")
      ->group("What");
  app.add_option("--simulate", options->simulate, "made-up GPUs even if there are real ones")
      ->type_name("SHAPE")
      ->group("What");
  app.add_option("--port", options->port, "loopback port of the HTTP API (default 0: any free one)")
      ->type_name("N")
      ->group("What");
  return [options, &context](const Parsed&) {
    DemoDaemon daemon;
    const std::string devices = choose_devices(context, *options);
    context.out.flush();
    if (auto status = daemon.start(devices, options->port, !options->to_the_end); !status) {
      return report_error(context, status.error());
    }
    return Demo(context, *options, daemon).run();
  };
}

}  // namespace rota::cli
