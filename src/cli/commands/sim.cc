#include <memory>

#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/read_file.h"
#include "report/words.h"
#include "sim/run.h"

namespace rota::cli {
namespace {

struct SimOptions {
  bool trace = false;
  bool quiet = false;
  bool quick = false;
  OutputOptions output;
  std::vector<std::string> files;
};

struct SimSummary {
  std::vector<sim::ScenarioReport> reports;
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t malformed = 0;  // files that could not be read or parsed
};

sim::ScenarioReport run_text(const std::string& text, const std::string& file,
                             const sim::RunOptions& options, SimSummary& summary) {
  const sim::ParsedScenario parsed = sim::parse_scenario(text, file);
  if (!parsed.ok()) {
    ++summary.malformed;
    sim::ScenarioReport report;
    report.file = file;
    report.problems = parsed.errors;
    return report;
  }
  return sim::run_scenario(parsed.scenario, options);
}

/// In JSON a file that cannot be read has a report with one problem.
sim::ScenarioReport unreadable(const std::string& file, const Error& error) {
  sim::ScenarioReport report;
  report.file = file;
  report.problems.push_back({file, 0, 0, error.message});
  return report;
}

void print_report(Context& context, const sim::ScenarioReport& report, const SimOptions& options) {
  for (const std::string& line : report.trace) context.out << line << "\n";
  if (report.passed) {
    if (!options.quiet) context.out << sim::report_text(report);
  } else {
    context.out << sim::report_text(report);
  }
  context.out.flush();
}

void print_json(Context& context, const SimSummary& summary) {
  api::Json document = api::Json::object();
  document["passed"] = summary.passed;
  document["failed"] = summary.failed;
  api::Json reports = api::Json::array();
  for (const auto& report : summary.reports) reports.push_back(api::to_json(report));
  document["scenarios"] = std::move(reports);
  context.out << json_of(document);
}

int run_files(Context& context, const SimOptions& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  SimSummary summary;
  const sim::RunOptions run{.trace = options.trace,
                            .check_invariants = !options.quick,
                            .run_twice = !options.quick};
  for (const std::string& file : options.files) {
    const auto text = read_text(file);
    if (!text) {
      report_error(context, text.error());
      ++summary.malformed;
      ++summary.failed;
      if (*format == Format::kJson) summary.reports.push_back(unreadable(file, text.error()));
      continue;
    }
    sim::ScenarioReport report = run_text(*text, file, run, summary);
    ++(report.passed ? summary.passed : summary.failed);
    if (*format == Format::kJson) {
      summary.reports.push_back(std::move(report));
    } else {
      print_report(context, report, options);
    }
  }
  if (*format == Format::kJson) {
    print_json(context, summary);
  } else {
    context.out << report::counted(summary.passed, "scenario") << " passed, " << summary.failed
                << " failed\n";
  }
  if (summary.malformed > 0) return kExitUsage;
  return summary.failed > 0 ? kExitFailed : kExitOk;
}

}  // namespace

Runner declare_sim(CLI::App& app, Context& context) {
  auto options = std::make_shared<SimOptions>();
  app.add_flag("--trace", options->trace, "show every event and decision")->group("What");
  app.add_flag("--quiet", options->quiet, "name failed scenarios only")->group("What");
  app.add_flag("--quick", options->quick, "run once, without checking invariants")->group("What");
  app.add_option("FILE", options->files, "scenario files")->required()->type_name("");
  add_output_options(app, options->output, "table|json");
  return [options, &context](const Parsed&) { return run_files(context, *options); };
}

}  // namespace rota::cli
