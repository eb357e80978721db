#include <algorithm>
#include <array>
#include <optional>

#include "http/route.h"
#include "http/routes_cluster.h"
#include "http/routes_jobs.h"
#include "http/url.h"

namespace rota::http {
namespace {

using enum ParameterType;

constexpr Parameter kJobsQuery[] = {
    {"user", kText, "only this person's"},
    {"queue", kText, "only this queue's"},
    {"state", kTextList, "only in these states; default: all that are not final"},
    {"array", kText, "only members of this array"},
    {"all", kFlag, "final ones too"},
    {"ended_after", kText, "with all: final ones that ended after this time (ISO-8601)"},
    {"order", kText, "id (default), or newest: ended jobs only, the latest end first"},
    {"cursor", kText, "next_cursor of the page before"},
    {"limit", kInteger, "jobs of a page, 1 to 5,000; default 500"},
};
constexpr Parameter kLogQuery[] = {
    {"rank", kInteger, "the task; default 0"},
    {"stream", kText, "stdout (default) or stderr"},
    {"attempt", kInteger, "default: the latest"},
    {"offset", kInteger, "first byte; negative: so many before the end"},
    {"limit", kInteger, "bytes, 1 to 1,048,576; default 65,536"},
    {"wait", kInteger, "seconds to wait for more when there is none, 0 to 30"},
};
constexpr Parameter kEventsQuery[] = {
    {"after", kInteger, "events after this seq; a stream without it begins now"},
    {"job", kText, "only about this job or array"},
    {"limit", kInteger, "events of a page, 1 to 5,000; default 1,000"},
};

constexpr auto kGet = Method::kGet;
constexpr auto kPost = Method::kPost;

constexpr auto kRoutes = std::to_array<Route>({
    {kPost, "/api/v1/jobs", "submitJob", "submit a job or an array", {}, "SubmitRequest",
     "SubmitReply", Media::kJson, 201, {}, submit_job},
    {kPost, "/api/v1/jobs:preview", "previewJob", "what a submit would do; nothing is done", {},
     "SubmitRequest", "Preview", Media::kJson, 200, {}, preview_job},
    {kGet, "/api/v1/jobs", "listJobs", "jobs, by id, in pages", kJobsQuery, {}, "JobPage",
     Media::kJson, 200, {}, list_jobs},
    {kGet, "/api/v1/jobs/{id}", "getJob", "one job with its attempts", {}, {}, "Job",
     Media::kJson, 200, {}, show_job},
    {Method::kPatch, "/api/v1/jobs/{id}", "updateJob", "change a job; absent fields stay", {},
     "UpdateRequest", "Job", Media::kJson, 200, {}, update_job},
    {kGet, "/api/v1/jobs/{id}/why", "explainJob", "why it waits, or why it ended", {}, {},
     "Verdict", Media::kJson, 200, {}, explain_job},
    {kGet, "/api/v1/jobs/{id}/request", "getJobRequest", "the request that made it", {}, {},
     "SubmitRequest", Media::kJson, 200, {}, show_request},
    {kGet, "/api/v1/jobs/{id}/log", "readJobLog", "a piece of its output", kLogQuery, {},
     "LogChunk", Media::kJson, 200, {}, read_log},
    {kPost, "/api/v1/jobs/{id}:cancel", "cancelJob", "end it", {}, {}, "JobPage", Media::kJson,
     200, "cancel", command_job},
    {kPost, "/api/v1/jobs/{id}:hold", "holdJob", "keep it from starting", {}, {}, "JobPage",
     Media::kJson, 200, "hold", command_job},
    {kPost, "/api/v1/jobs/{id}:release", "releaseJob", "let it start again", {}, {}, "JobPage",
     Media::kJson, 200, "release", command_job},
    {kPost, "/api/v1/jobs/{id}:requeue", "requeueJob", "stop it and let it start anew", {}, {},
     "JobPage", Media::kJson, 200, "requeue", command_job},
    {kPost, "/api/v1/jobs/{id}:signal", "signalJob", "send its processes a signal", {},
     "SignalRequest", "Job", Media::kJson, 200, {}, signal_job},
    {kGet, "/api/v1/nodes", "listNodes", "all nodes", {}, {}, "NodeList", Media::kJson, 200, {},
     list_nodes},
    {kPost, "/api/v1/nodes/{name}:drain", "drainNode", "finish and empty it", {},
     "NodeCommandRequest", "Node", Media::kJson, 200, "drain", command_node},
    {kPost, "/api/v1/nodes/{name}:undrain", "undrainNode", "use it again", {},
     "NodeCommandRequest", "Node", Media::kJson, 200, "undrain", command_node},
    {kPost, "/api/v1/nodes/{name}:quarantine", "quarantineNode", "out until checked", {},
     "NodeCommandRequest", "Node", Media::kJson, 200, "quarantine", command_node},
    {kPost, "/api/v1/nodes/{name}:recover", "recoverNode", "checked: use it again", {},
     "NodeCommandRequest", "Node", Media::kJson, 200, "recover", command_node},
    {kGet, "/api/v1/devices", "listDevices", "all devices and who holds them", {}, {},
     "DeviceList", Media::kJson, 200, {}, list_devices},
    {kGet, "/api/v1/queues", "listQueues", "the tree of owners", {}, {}, "QueueList",
     Media::kJson, 200, {}, list_queues},
    {Method::kPut, "/api/v1/queues/{name}", "setQueue", "make or change a queue", {},
     "QueueRequest", "Queue", Media::kJson, 200, {}, set_queue},
    {kGet, "/api/v1/events", "readEvents", "what happened: a page, or a stream", kEventsQuery, {},
     "EventPage", Media::kEvents, 200, {}, read_events},
    {kGet, "/api/v1/server", "getServer", "the daemon and its totals", {}, {}, "Server",
     Media::kJson, 200, {}, show_server},
    {kPost, "/api/v1/session", "openSession", "trade the token for a cookie, for reading", {},
     "SessionRequest", {}, Media::kJson, 204, {}, open_session},
    {Method::kDelete, "/api/v1/session", "closeSession", "forget the cookie", {}, {}, {},
     Media::kJson, 204, {}, close_session},
    {kGet, "/metrics", "getMetrics", "Prometheus text format", {}, {}, {}, Media::kText, 200, {},
     show_metrics},
    {kGet, "/healthz", "getHealth", "200 while the daemon schedules, else 503", {}, {}, {},
     Media::kText, 200, {}, show_health},
    {kGet, "/openapi.json", "getOpenApi", "this document", {}, {}, {}, Media::kJson, 200, {},
     show_openapi},
});

/// The next part of a pattern, up to '/'; removes it.
std::string_view next_part(std::string_view& pattern) {
  if (!pattern.empty() && pattern.front() == '/') pattern.remove_prefix(1);
  const std::string_view part = pattern.substr(0, pattern.find('/'));
  pattern.remove_prefix(part.size());
  return part;
}

/// `{id}:cancel` against `7:cancel`. The variable is what the pattern's end leaves, never empty and
/// without ':', so that `{id}` alone does not take an action of another row.
bool match_part(std::string_view part, std::string_view segment, std::string_view& variable) {
  if (part.empty() || part.front() != '{') return part == segment;
  const std::string_view suffix = part.substr(part.find('}') + 1);
  if (!segment.ends_with(suffix)) return false;
  segment.remove_suffix(suffix.size());
  if (segment.empty() || segment.find(':') != std::string_view::npos) return false;
  variable = segment;
  return true;
}

bool match_path(std::string_view pattern, const std::vector<std::string>& segments,
                std::string_view& variable) {
  for (const std::string& segment : segments) {
    if (pattern.empty() || !match_part(next_part(pattern), segment, variable)) return false;
  }
  return pattern.empty();
}

}  // namespace

std::span<const Route> route_table() { return kRoutes; }

Result<RouteMatch> match_route(Method method, const std::vector<std::string>& segments) {
  if (method == Method::kHead) method = Method::kGet;
  RouteMatch out;
  for (const Route& route : kRoutes) {
    std::string_view variable;
    if (!match_path(route.path, segments, variable)) continue;
    out.allowed.push_back(route.method);
    if (route.method != method) continue;
    Result<std::string> decoded = decode_percent(variable);
    if (!decoded) return decoded.error();
    out.route = &route;
    out.argument = std::move(*decoded);
    return out;
  }
  return out;
}

}  // namespace rota::http
