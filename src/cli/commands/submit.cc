#include <memory>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/job_end.h"
#include "cli/refusal.h"
#include "cli/submission.h"
#include "cli/submit_options.h"
#include "cli/time_text.h"
#include "cli/views.h"
#include "report/words.h"

namespace rota::cli {
namespace {

/// "2 tasks x 4 GPUs", "half a GPU": what was asked for, so that a wrong size is seen at once.
std::string asked_text(const api::SubmitRequest& request) {
  std::string size;
  if (!request.mig.empty()) {
    size = "MIG " + request.mig;
  } else if (request.slots > 0) {
    size = report::counted(request.slots, "slot");
  } else {
    const double gpus = request.gpus.value_or(1);
    size = number_text(gpus) + (gpus > 0 && gpus <= 1 ? " GPU" : " GPUs");
  }
  if (request.tasks > 1) size = std::to_string(request.tasks) + " tasks x " + size;
  return size;
}

std::string job_count_text(const api::SubmitReply& reply) {
  if (reply.ids.size() <= 1) return "job " + reply.id;
  return "array " + reply.id + ": " +
         report::counted(static_cast<std::int64_t>(reply.ids.size()), "job");
}

/// ", not before 2026-12-24T08:00:00Z (in 2h)": what a time on some zone's clock has come to.
std::string times_text(const Context& context, const api::SubmitRequest& request) {
  const std::int64_t now = context.now_seconds();
  std::string text;
  if (!request.begin.empty()) text += ", not before " + iso_and_relative(request.begin, now);
  if (!request.deadline.empty()) text += ", deadline " + iso_and_relative(request.deadline, now);
  return text;
}

void print_reply(Context& context, const Draft& draft, const OutputOptions& output,
                 const api::SubmitReply& reply) {
  if (draft.parsable) {
    context.out << reply.id << "\n";
    return;
  }
  print_object(context, output, reply, reply.id, [&] {
    std::string text =
        "submitted " + job_count_text(reply) + " (" + asked_text(draft.request) + ")";
    if (reply.repeated) text += ", known from an earlier try";
    text += times_text(context, draft.request);
    text += reply.state == "pending" || reply.state.empty() ? "\n" : ", " + reply.state + "\n";
    return text;
  });
}

/// A preview is of one job; members of an array or sweep are alike.
std::string many_text(const api::SubmitRequest& request) {
  const bool sweep = !request.params.empty();
  const auto count =
      static_cast<std::int64_t>(sweep ? request.params.size() : request.array.size());
  if (count == 0) return {};
  return std::string(sweep ? "a sweep" : "an array") + " of " + report::counted(count, "job") +
         (count > 1 ? "; of the first one:\n" : ":\n");
}

std::string preview_text(const Context& context, const Draft& draft, const api::Preview& preview) {
  std::string text = many_text(draft.request);
  if (preview.starts_now) {
    text += "would start now on " + places_text(preview.places) + " (" + asked_text(draft.request) +
           ")" + times_text(context, draft.request) + "\n";
  } else {
    text += verdict_text(context, preview.verdict,
                        "would wait (" + asked_text(draft.request) +
                             times_text(context, draft.request) + "): ");
  }
  if (!preview.victims.empty()) {
    text += "would preempt " + join(preview.victims, ", ") + "\n";
  } else {
    text += "would preempt nobody\n";
  }
  return text + "Nothing was submitted.\n";
}

/// Puts the reason where the verdict's own words leave it open.
void say_why_never(http::Client& client, const api::SubmitRequest& request,
                   api::Preview& preview) {
  const auto reason = reason_of_refusal(client, request);
  if (!reason) return;
  preview.verdict.summary = (reason->where == "afterok" ? "--afterok: " : "") + reason->message;
}

int dry_run(Context& context, http::Client& client, const Draft& draft,
            const OutputOptions& output) {
  auto preview = client.preview(draft.request);
  if (!preview) {
    return report_daemon_error(context, client, explained(client, preview.error(), draft));
  }
  print_warnings(context, preview->warnings);
  const bool never = !preview->verdict.reasons.empty() &&
                     (preview->verdict.reasons.front().code == "infeasible" ||
                      preview->verdict.reasons.front().code == "dependency_never");
  if (never) say_why_never(client, draft.request, *preview);
  print_object(context, output, *preview, preview->starts_now ? "now" : preview->estimate,
               [&] { return preview_text(context, draft, *preview); });
  return never && !draft.request.hold_infeasible ? kExitRefused : kExitOk;
}

int wait_for_end(Context& context, http::Client& client, const std::string& id) {
  const auto jobs = wait_for_jobs(client, {id}, [](const api::Job&) {});
  if (!jobs) return report_daemon_error(context, client, jobs.error());
  for (const api::Job& job : *jobs) {
    if (const int code = job_exit_code(job); code != kExitOk) return code;
  }
  return kExitOk;
}

int submit(Context& context, Common& common, const Parsed& parsed) {
  auto draft = make_draft(parsed, kOnSubmit, context);
  if (!draft) return report_error(context, draft.error());
  if (!draft->format.empty()) common.output.format_text = draft->format;
  print_warnings(context, draft->warnings);
  return with_client(context, common, [&](http::Client& client) {
    if (draft->dry_run) return dry_run(context, client, *draft, common.output);
    draft->request.idempotency_key = make_idempotency_key();
    const auto reply = client.submit(draft->request);
    if (!reply) {
      return report_daemon_error(context, client, explained(client, reply.error(), *draft));
    }
    print_warnings(context, reply->warnings);
    print_reply(context, *draft, common.output, *reply);
    context.out.flush();
    return draft->wait ? wait_for_end(context, client, reply->id) : kExitOk;
  });
}

}  // namespace

Runner declare_submit(CLI::App& app, Context& context) {
  declare_submit_options(app, kOnSubmit);
  auto common = add_common(app, OutputFlags::kNone);
  return [common, &context](const Parsed& parsed) { return submit(context, *common, parsed); };
}

}  // namespace rota::cli
