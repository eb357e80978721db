#include "cli/audit_span.h"

#include <algorithm>

#include "audit/audit.h"
#include "base/text.h"
#include "cli/audit_report.h"
#include "cli/offline.h"
#include "cli/time_text.h"
#include "cli/usage.h"

namespace rota::cli {
namespace {

/// A point of time, or for traces without dates a length since their start.
Result<std::int64_t> point_of(Context& context, const std::string& option, const std::string& text,
                              const audit::Window& whole) {
  if (whole.begin < Duration::days(3650).ns()) {
    const auto length = parse_duration(text);
    if (length) return length->ns();
    return usage_error(option + " '" + text + "': this history has no dates; expected a length " +
                       "since its start, like 12h or 3d");
  }
  const auto seconds = parse_past(text, context.now_seconds());
  if (!seconds) return usage_error(option + ": " + seconds.error().message);
  return Duration::seconds(*seconds).ns();
}

}  // namespace

Result<audit::Window> span_of_work(Context& context, const SpanOptions& options,
                                   const audit::Work& work) {
  const auto whole = audit::window_of(work);
  constexpr Int128 kLongest = Duration::days(36'525).ns();
  if (whole && Int128{whole->end} - whole->begin > kLongest) {
    return usage_error("the history spans more than 100 years, from " +
                       audit_instant(whole->begin) + " to " + audit_instant(whole->end) +
                       ": a time in it is wrong; `rota import --to` writes all rows to look at");
  }
  if (!whole || whole->length() <= 0) {
    return usage_error("the history tells no span of time: no job has a submit, start or end that "
                       "differs from the others; `rota import` shows what it holds");
  }
  audit::Window window = *whole;
  for (const bool is_from : {true, false}) {
    const std::string& text = is_from ? options.from : options.until;
    if (text.empty()) continue;
    const auto point = point_of(context, is_from ? "--from" : "--until", text, *whole);
    if (!point) return point.error();
    if (is_from) window.begin = std::max(window.begin, *point);
    else window.end = std::min(window.end, *point);
  }
  if (window.length() > 0) return window;
  return usage_error("nothing of the history lies between --from and --until; it goes from " +
                     audit_instant(whole->begin) + " to " + audit_instant(whole->end));
}

Result<std::optional<std::int64_t>> gpus_on(const std::string& on) {
  if (on.empty()) return std::optional<std::int64_t>();
  const auto nodes = cluster_of(on);
  if (!nodes) return nodes.error();
  std::int64_t gpus = 0;
  for (const NodeSpec& node : *nodes) gpus += std::ssize(node.devices);
  if (gpus == 0) return usage_error("--on '" + on + "': the cluster has no GPU");
  return std::optional<std::int64_t>(gpus * 1000);
}

}  // namespace rota::cli
