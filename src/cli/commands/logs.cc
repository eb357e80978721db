#include <algorithm>
#include <memory>

#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/job_end.h"
#include "cli/views.h"

namespace rota::cli {
namespace {

struct LogOptions {
  bool follow = false;
  bool error_stream = false;
  std::int64_t rank = 0;
  std::int64_t attempt = 0;
  std::int64_t lines = -1;  // all
  std::string id;
};

constexpr std::int64_t kTailBytes = 1024 * 1024;  // how far back --lines looks

/// Where the last `lines` lines of `text` begin.
std::size_t tail_start(std::string_view text, std::int64_t lines) {
  std::size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  for (; lines > 0 && at > 0; --lines) {
    const std::size_t line_end = text.rfind('\n', at - 1);
    if (line_end == std::string_view::npos) return 0;
    if (lines == 1) return line_end + 1;
    at = line_end;
  }
  return at == 0 ? 0 : text.size();
}

/// Prints the last lines. Value: the offset behind what was there.
Result<std::int64_t> print_tail(Context& context, http::Client& client, const LogOptions& options,
                                server::LogQuery query) {
  query.offset = -kTailBytes;
  query.limit = kTailBytes;
  const auto chunk = client.log(options.id, query);
  if (!chunk) return chunk.error();
  context.out << std::string_view(chunk->data).substr(tail_start(chunk->data, options.lines));
  context.out.flush();
  return chunk->offset + static_cast<std::int64_t>(chunk->data.size());
}

/// Of an array one member's output is shown: which, and how to see another.
void name_member(Context& context, const api::Job& job, const std::string& asked) {
  if (!names_array(asked, job.id)) return;
  context.err << "rota: this is job " << job.id << " of array " << job.array_id
              << "; of another member: rota logs " << job.array_id << ".INDEX" << std::endl;
}

/// Why there is no output.
void explain_silence(Context& context, const api::Job& job) {
  if (is_final_state(job.state)) {
    const std::string how = ended_in_full(job);
    context.err << "rota: job " << job.id << " wrote nothing: "
                << (job.attempts == 0 ? "it never started, " : "") << job.state
                << (how.empty() ? "" : ", " + how) << "\n";
  } else if (job.state == "pending" && job.attempts == 0) {
    context.err << "rota: job " << job.id << " has not started yet; see `rota why " << job.id
                << "`\n";
  } else {
    context.err << "rota: job " << job.id << " has written nothing so far (" << job.state << ")\n";
  }
}

/// `rota run` keeps no file of what it has shown whole.
Error of_lost_output(const api::Job& job, Error error) {
  const bool run = job.stdout_path.find("/rota/run-output/job-") != std::string::npos;
  if (error.code == ErrorCode::kNotFound && run && is_final_state(job.state)) {
    error.message = "job " + job.id + " was shown by `rota run`, which keeps no copy";
  }
  return error;
}

int print_log(Context& context, http::Client& client, LogOptions options) {
  const auto job = client.job(options.id);
  if (!job) return report_daemon_error(context, client, job.error());
  name_member(context, *job, options.id);
  options.id = job->id;
  // Of other people's jobs a daemon shows too little to explain their silence.
  const auto allowed = client.log(options.id, {.limit = 1});
  if (!allowed && allowed.error().code == ErrorCode::kDenied) {
    return report_daemon_error(context, client, allowed.error());
  }
  if (options.error_stream && (job->stderr_path.empty() || job->stderr_path == job->stdout_path)) {
    context.err << "rota: job " << job->id
                << " writes errors to the same file as its output, which is this:" << std::endl;
  }
  if (job->attempts == 0 && (is_final_state(job->state) || !options.follow)) {
    explain_silence(context, *job);
    return kExitOk;
  }
  if (options.follow && job->attempts == 0) explain_silence(context, *job);
  http::FollowLog follow;
  follow.from.rank = options.rank;
  follow.from.error_stream = options.error_stream;
  follow.from.attempt = options.attempt;
  follow.until_final = options.follow;
  if (options.lines >= 0) {
    const auto offset = print_tail(context, client, options, follow.from);
    if (!offset) return report_daemon_error(context, client, of_lost_output(*job, offset.error()));
    if (!options.follow) return kExitOk;
    follow.from.offset = *offset;
  }
  const auto last = client.follow_log(options.id, follow, [&](std::string_view data) {
    context.out.write(data.data(), static_cast<std::streamsize>(data.size()));
    context.out.flush();
    return context.out.good() ? http::Follow::kGoOn : http::Follow::kStop;
  });
  if (!last) return report_daemon_error(context, client, of_lost_output(*job, last.error()));
  if (last->size == 0 && !options.error_stream) {
    const auto now = options.follow ? client.job(options.id) : job;
    if (now) explain_silence(context, *now);
  }
  return kExitOk;
}

}  // namespace

Runner declare_logs(CLI::App& app, Context& context) {
  auto options = std::make_shared<LogOptions>();
  app.add_flag("-f,--follow", options->follow, "go on until the job has ended")->group("What");
  app.add_option("--rank", options->rank, "of this task of a gang (default 0)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}).description(""))
      ->group("What");
  app.add_flag("--err", options->error_stream, "error output, where it has a file of its own")
      ->group("What");
  app.add_option("--attempt", options->attempt, "of this start (default: the latest)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}).description(""))
      ->group("What");
  app.add_option("-n,--lines", options->lines, "the last N lines only")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}).description(""))
      ->group("What");
  app.add_option("ID", options->id, "job")->required()->type_name("");
  auto common = add_common(app, OutputFlags::kNone);
  return [common, options, &context](const Parsed&) {
    return with_client(context, *common, [&](http::Client& client) {
      return print_log(context, client, *options);
    });
  };
}

}  // namespace rota::cli
