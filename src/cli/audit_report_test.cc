#include "cli/audit_report.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/audit_charts.h"
#include "cli/audit_source.h"
#include "history/read.h"

namespace rota::cli {
namespace {

AuditReport report_from(const std::string& text, std::int64_t capacity) {
  const auto history = history::read_history_text(text, "jobs.csv", {});
  EXPECT_TRUE(history) << (history ? "" : history.error().message);
  const audit::Work work = work_of(*history);
  AuditReport report{.source = "jobs.csv (csv)", .capacity_words = "--on flat:4"};
  audit::AuditOptions options;
  options.capacity = capacity;
  auto audit = audit::audit_work(work, *audit::window_of(work), options);
  EXPECT_TRUE(audit);
  report.audit = std::move(*audit);
  report.findings = findings_of(report.audit);
  report.unknowns = unknowns_of(report.audit);
  return report;
}

constexpr std::string_view kJobs =
    "id,user,queue,submit,start,end,state,gpus\n"
    "1,ann,<b>vision</b>,0,0,7200,COMPLETED,2\n"
    "2,bob,\"a&b\",0,3600,7200,FAILED,1\n";

TEST(AuditReport, JsonLeavesOutWhatIsNotKnown) {
  const api::Json json = audit_json(report_from(std::string(kJobs), 4000));
  EXPECT_EQ(json["jobs"], 2);
  EXPECT_EQ(json["gpu_hours"]["held"], 5.0);
  EXPECT_EQ(json["gpu_hours"]["lost"], 1.0);
  EXPECT_FALSE(json["gpu_hours"].contains("utilisation"));
  EXPECT_FALSE(json["requests"].contains("limit_used_p50"));
  EXPECT_FALSE(json.contains("classes_yaml"));
  EXPECT_EQ(json["occupancy"]["ratio"], 0.625);
  EXPECT_EQ(json["waits"]["all"]["wait_seconds"]["max"], 3600.0);
  const api::Json less = audit_json(report_from("submit,run,gpus\n0,5,1\n9,5,1\n", 4000));
  EXPECT_FALSE(less["occupancy"].contains("ratio"));
  EXPECT_FALSE(less["waits"]["all"].contains("wait_seconds"));
  EXPECT_FALSE(less["gpu_hours"].contains("lost"));
  EXPECT_FALSE(less["failures"].contains("gpu_hours_failed"));
}

TEST(AuditReport, CsvHasTheFieldsOfTheJson) {
  const std::string csv = audit_csv(report_from(std::string(kJobs), 4000));
  EXPECT_TRUE(csv.starts_with("figure,value\nsource,jobs.csv (csv)\n")) << csv;
  EXPECT_NE(csv.find("\noccupancy.ratio,0.625\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\nwaits.by_size.0.name,1\n"), std::string::npos) << csv;
}

TEST(AuditReport, HtmlStandsAloneAndEscapesTheHistory) {
  const std::string html = audit_html(report_from(std::string(kJobs), 4000));
  EXPECT_EQ(html.find("<b>vision"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;vision&lt;/b&gt;"), std::string::npos);
  EXPECT_NE(html.find("a&amp;b"), std::string::npos);
  for (const char* outside : {"http:", "https:", "<script", "@import", "url(", "src="}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
  const auto count = [&](std::string_view word) {
    int found = 0;
    for (std::size_t at = 0; (at = html.find(word, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  for (const std::string tag : {"svg", "table", "div", "dl", "ul", "p", "td", "th", "span"}) {
    EXPECT_EQ(count("<" + tag + ">") + count("<" + tag + " "), count("</" + tag + ">")) << tag;
  }
  EXPECT_EQ(count("<svg"), 3);
}

TEST(AuditReport, ChartsOfNothingAreEmpty) {
  const AuditReport report = report_from("submit,run,gpus\n0,5,\n9,5,\n", 4000);
  EXPECT_EQ(ledger_chart(report.audit), "");
  EXPECT_EQ(week_chart(report.audit), "");
  EXPECT_EQ(wait_chart({}), "");
}

TEST(AuditReport, PageSaysWhatItLeansOn) {
  const std::string page = audit_page(report_from(std::string(kJobs), 4000), {});
  EXPECT_NE(page.find("4 GPUs (--on flat:4)"), std::string::npos) << page;
  EXPECT_NE(page.find("63 % of capacity was held"), std::string::npos) << page;
  EXPECT_NE(page.find("Utilisation:   cannot be known"), std::string::npos) << page;
}

}  // namespace
}  // namespace rota::cli
