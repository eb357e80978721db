#include "cli/report/show.h"

#include <utility>

#include "audit/apportion.h"
#include "base/text.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "report/csv.h"
#include "report/words.h"

namespace rota::cli::reports {

namespace {

std::string html_of(const Page& page) {
  report::HtmlPage html{.title = page.title,
                        .facts = page.facts,
                        .body = report::html_bar(page.parts) + report::html_table(page.table),
                        .remarks = {}};
  for (const std::string_view line : split(page.foot, '\n')) html.remarks.emplace_back(line);
  for (const std::string& note : page.notes) html.remarks.push_back("Note: " + note + ".");
  return report::html_page(html);
}

}  // namespace

int print_page(Context& context, const OutputOptions& output, Page page) {
  const auto format = output.format();
  if (!format) return report_error(context, format.error());
  switch (*format) {
    case Format::kJson:
      page.json["notes"] = page.notes;
      context.out << json_of(page.json);
      break;
    case Format::kCsv:
      context.out << page.csv;
      for (const std::string& note : page.notes) context.err << "Note: " << note << ".\n";
      break;
    case Format::kHtml:
      context.out << html_of(page);
      break;
    default:
      if (!page.facts.empty()) context.out << key_values(page.facts) << "\n";
      context.out << page.table.text(table_style(context, output)) << page.foot;
      for (const std::string& note : page.notes) context.out << "Note: " << note << ".\n";
  }
  return kExitOk;
}

Facts facts_of(const ReportInput& input) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < input.pools.size(); ++i) {
    const std::string& model = input.pools[i].model;
    if (input.usage.capacity[i] == MilliGpu() || model.empty()) continue;
    parts.push_back(model + " " + format_gpus(input.usage.capacity[i]));
  }
  std::string capacity = report::gpu_words(input.capacity());
  if (!parts.empty()) capacity += ": " + join(parts, ", ");
  return {{"Period", period_text(input.period())}, {"Capacity", capacity}};
}

api::Json head_json(std::string_view report, const ReportInput& input) {
  api::Json json = api::Json::object();
  json["report"] = std::string(report);
  json["begin"] = point_text(input.usage.begin);
  json["end"] = point_text(input.usage.end);
  json["gpus"] = static_cast<double>(input.capacity().value()) / 1000;
  return json;
}

std::string percent_text(Int128 part, Int128 whole) {
  if (whole == 0) return "-";
  const Int128 tenths = whole > 0 ? audit::rounded_to(part * 1000, whole)
                                  : audit::rounded_to(part * -1000, -whole);
  return fixed_text(tenths, 1) + " %";
}

}  // namespace rota::cli::reports
