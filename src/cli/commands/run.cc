// `rota run`: submit, stream, wait, return the job's code. The main thread copies the output; error
// output and signals have a thread and a connection each.
#include <csignal>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/job_end.h"
#include "cli/refusal.h"
#include "cli/signals.h"
#include "cli/submission.h"
#include "cli/submit_options.h"
#include "cli/time_text.h"
#include "cli/views.h"

namespace rota::cli {
namespace {

constexpr std::chrono::hours kKeepOutput{7 * 24};
constexpr int kStreamTries = 20;
constexpr std::chrono::milliseconds kStreamPause{500};

/// Signals that end `run` go to the job instead. Blocked before any thread starts.
sigset_t forwarded_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, number);
  return set;
}

/// Takes the signals of this process while the job lives: the first asks it to end, the second
/// kills it, the third leaves it to the daemon.
class SignalForwarder {
 public:
  SignalForwarder(Context& context, http::Endpoint endpoint, std::string job)
      : context_(context), endpoint_(std::move(endpoint)), job_(std::move(job)),
        thread_([this] { run(); }) {}
  ~SignalForwarder() {
    ended_ = true;
    thread_.join();
  }
  SignalForwarder(const SignalForwarder&) = delete;
  SignalForwarder& operator=(const SignalForwarder&) = delete;

 private:
  void run() {
    const sigset_t set = forwarded_signals();
    while (!ended_) {
      const timespec tick{0, 50'000'000};
      const int number = ::sigtimedwait(&set, nullptr, &tick);
      if (number > 0) forward(number);
    }
  }

  void forward(int number) {
    http::Client client(endpoint_);
    if (++count_ == 1) {
      context_.err << "rota: asking job " << job_ << " to end (again to kill it)" << std::endl;
      report(client.command(job_, "cancel"));
    } else if (count_ == 2) {
      context_.err << "rota: killing job " << job_ << std::endl;
      report(client.signal(job_, SIGKILL));
    } else {
      context_.err << "rota: job " << job_ << " is left to the daemon; see `rota show " << job_
                   << "`" << std::endl;
      ::_exit(128 + number);
    }
  }

  template <class T>
  void report(const Result<T>& result) {
    if (!result) context_.err << "rota: " << result.error().message << std::endl;
  }

  Context& context_;
  http::Endpoint endpoint_;
  std::string job_;
  std::atomic<bool> ended_{false};
  int count_ = 0;
  std::thread thread_;
};

/// Copies one stream of the job until the job is final, also across a restart of the daemon. A
/// closed pipe of ours ends the copy. Value: all of it was written.
bool copy_stream(http::Client& client, const std::string& job, bool error_stream,
                 std::ostream& out) {
  http::FollowLog follow;
  follow.from.error_stream = error_stream;
  for (int failures = 0; failures < kStreamTries;) {
    const auto last = client.follow_log(job, follow, [&](std::string_view data) {
      out.write(data.data(), static_cast<std::streamsize>(data.size()));
      out.flush();
      follow.from.offset += static_cast<std::int64_t>(data.size());
      failures = 0;
      return out.good() ? http::Follow::kGoOn : http::Follow::kStop;
    });
    const bool lost = !last && (last.error().code == ErrorCode::kUnavailable ||
                                last.error().code == ErrorCode::kUnknownResult);
    if (!lost) return last.ok() && out.good();
    ++failures;
    std::this_thread::sleep_for(kStreamPause);
  }
  return false;
}

/// Whose choice the job's output files are.
enum class OutputFiles { kOurs, kTheirs };

/// What was shown whole needs no copy. Of a job that failed, or whose other ranks wrote as well,
/// the files stay for `rota logs`.
void remove_output(const api::Job& job) {
  if (job.state != "done" || job.tasks != 1) return;
  for (const std::string& path : {job.stdout_path, job.stderr_path}) {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove(path, ignored);
  }
}

int follow_job(Context& context, http::Client& client, const http::Endpoint& endpoint,
               const api::Job& job, OutputFiles files) {
  const bool two_streams = !job.stderr_path.empty() && job.stderr_path != job.stdout_path;
  std::thread errors;
  bool errors_shown = true;
  if (two_streams) {
    errors = std::thread([&] {
      http::Client own(endpoint);
      errors_shown = copy_stream(own, job.id, true, context.err);
    });
  }
  bool shown = false;
  Result<std::vector<api::Job>> ended = std::vector<api::Job>{};
  {
    SignalForwarder forwarder(context, endpoint, job.id);
    shown = copy_stream(client, job.id, false, context.out);
    if (errors.joinable()) errors.join();
    ended = wait_for_jobs(client, {job.id}, [](const api::Job&) {});
  }
  if (!ended) return report_daemon_error(context, client, ended.error());
  const api::Job& last = ended->front();
  if (files == OutputFiles::kOurs && shown && errors_shown) remove_output(last);
  // A command that ended by itself has said what there is to say.
  if (last.state != "done" && (last.end_cause != "exited" || !last.detail.empty())) {
    const std::string how = ended_in_full(last);
    context.err << "rota: job " << last.id << " " << last.state << (how.empty() ? "" : ": " + how)
                << "\n";
  }
  return job_exit_code(last);
}

/// Output of `run` belongs on the terminal, not into files of the working directory: it lies in the
/// account's state folder, of a job that failed for a week.
OutputFiles choose_output_files(const Context& context, api::SubmitRequest& request) {
  namespace fs = std::filesystem;
  if (!request.stdout_path.empty() || !request.stderr_path.empty()) return OutputFiles::kTheirs;
  const auto state = context.variable("XDG_STATE_HOME");
  const auto home = context.variable("HOME");
  if (!state && !home) return OutputFiles::kTheirs;
  const fs::path folder = (state ? fs::path(*state) : fs::path(*home) / ".local/state") /
                          "rota/run-output";
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return OutputFiles::kTheirs;
  fs::permissions(folder, fs::perms::owner_all, failed);
  const auto oldest = fs::file_time_type::clock::now() - kKeepOutput;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, failed)) {
    std::error_code ignored;
    const bool ours = file.path().filename().string().starts_with("job-");
    if (ours && file.last_write_time(ignored) < oldest) fs::remove(file.path(), ignored);
  }
  request.stdout_path = folder / ("job-%j-" + request.idempotency_key.substr(0, 8) + ".out");
  request.stderr_path = folder / ("job-%j-" + request.idempotency_key.substr(0, 8) + ".err");
  return OutputFiles::kOurs;
}

/// That it waits, why, and until when: said once and at once, since nothing else tells a shell that
/// stands still from one that hangs.
void say_that_it_waits(Context& context, http::Client& client, const std::string& job) {
  const auto verdict = client.why(job);
  context.err << "rota: job " << job << " waits for its turn";
  if (verdict && verdict->state == "pending") {
    context.err << ". " << verdict->summary << " Expected start: "
                << expected_start(*verdict, context.now_seconds()) << ". ";
  } else {
    context.err << "; ";
  }
  context.err << "`rota why " << job << "` says more, Ctrl-C cancels it." << std::endl;
}

void say_where_ranks_write(Context& context, const api::Job& job) {
  if (job.tasks <= 1) return;
  context.err << "rota: this is the output of rank 0; of the others: rota logs --rank 1 "
              << job.id << std::endl;
}

int run(Context& context, Common& common, const Parsed& parsed) {
  auto draft = make_draft(parsed, kOnRun, context);
  if (!draft) return report_error(context, draft.error());
  if (!draft->format.empty()) {
    return report_error(context, {ErrorCode::kInvalidArgument,
                                  "run prints the job's output; use `rota submit -o " +
                                      draft->format + "` for a form of the answer"});
  }
  print_warnings(context, draft->warnings);
  const sigset_t set = forwarded_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return with_client(context, common, [&](http::Client& client) {
    if (draft->dry_run) {
      const auto preview = client.preview(draft->request);
      if (!preview) {
        return report_daemon_error(context, client,
                                   explained(client, preview.error(), *draft));
      }
      context.out << verdict_text(context, preview->verdict,
                                  preview->starts_now ? "" : "would wait: ");
      return kExitOk;
    }
    draft->request.idempotency_key = make_idempotency_key();
    const OutputFiles files = choose_output_files(context, draft->request);
    const auto reply = client.submit(draft->request);
    if (!reply) {
      return report_daemon_error(context, client, explained(client, reply.error(), *draft));
    }
    // A pipe behind the output gets the job's own words and nothing else.
    print_warnings(context, reply->warnings);
    const auto job = client.job(reply->id);
    if (!job) return report_daemon_error(context, client, job.error());
    if (job->state == "pending") say_that_it_waits(context, client, job->id);
    say_where_ranks_write(context, *job);
    return follow_job(context, client, endpoint_of(context, common), *job, files);
  });
}

}  // namespace

Runner declare_run(CLI::App& app, Context& context) {
  declare_submit_options(app, kOnRun);
  auto common = add_common(app, OutputFlags::kNone);
  return [common, &context](const Parsed& parsed) { return run(context, *common, parsed); };
}

}  // namespace rota::cli
