// audit: one page on where the GPU time of a history went, and what to do about it.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "audit/audit.h"
#include "base/text.h"
#include "cli/audit_report.h"
#include "cli/audit_source.h"
#include "cli/audit_span.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/history_options.h"
#include "cli/offline.h"
#include "cli/output.h"
#include "cli/usage.h"

namespace rota::cli {
namespace {

struct AuditCommand {
  HistoryOptions history;
  std::string on;
  SpanOptions span;
  std::string shares;
  std::string classes_to;
  bool hash = false;
  OutputOptions output;
};

/// `vision=3,speech=1`: parts in thousandths.
Result<std::vector<std::pair<std::string, std::int64_t>>> shares_of(const std::string& text) {
  std::vector<std::pair<std::string, std::int64_t>> shares;
  if (text.empty()) return shares;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.rfind('=');
    const auto value = equals == std::string_view::npos
                           ? Result<std::int64_t>(usage_error(""))
                           : parse_fixed(part.substr(equals + 1), 3);
    if (equals == 0 || !value || *value <= 0 || *value > 1'000'000'000) {
      return usage_error("--shares '" + std::string(part) +
                         "': expected team=PART with a part from 0.001 to 1000000, like "
                         "vision=3,speech=1");
    }
    std::string name(part.substr(0, equals));
    const bool twice = std::any_of(shares.begin(), shares.end(),
                                   [&](const auto& known) { return known.first == name; });
    if (twice) return usage_error("--shares: team '" + name + "' is named twice");
    shares.emplace_back(std::move(name), *value);
  }
  return shares;
}

struct AuditSource {
  audit::Work work;
  std::string files;
  std::int64_t skipped = 0;  // rows
  std::vector<std::string> remarks;
};

/// The history itself is dropped before anything is measured: it is the larger part of memory.
Result<AuditSource> source_from(Context& context, const HistoryOptions& options) {
  auto history = read_history(context, options);
  if (!history) return history.error();
  AuditSource source{{}, source_words(history->notes()),
                     history->notes().count_of(history::RowFate::kSkipped),
                     history->notes().remarks};
  source.work = work_of(std::move(*history));
  return source;
}

Result<AuditReport> report_of(Context& context, const AuditCommand& options) {
  audit::AuditOptions how;
  auto shares = shares_of(options.shares);
  if (!shares) return shares.error();
  how.shares = std::move(*shares);
  const auto capacity = gpus_on(options.on);
  if (!capacity) return capacity.error();
  how.capacity = *capacity;
  auto source = source_from(context, options.history);
  if (!source) return source.error();
  const auto window = span_of_work(context, options.span, source->work);
  if (!window) return window.error();
  if (options.hash) {
    hash_names(source->work);
    for (auto& [name, part] : how.shares) name = hashed_name("team", name);
  }
  auto audit = audit::audit_work(source->work, *window, how);
  if (!audit) return audit.error();
  AuditReport report{.source = source->files, .capacity_words = "--on " + options.on,
                     .audit = std::move(*audit)};
  report.findings = findings_of(report.audit);
  report.unknowns = unknowns_of(report.audit);
  report.unknowns.insert(report.unknowns.end(), source->remarks.begin(), source->remarks.end());
  if (source->skipped > 0) {
    report.unknowns.push_back("what stands in " + grouped(source->skipped) +
                              (source->skipped == 1 ? " row that" : " rows that") +
                              " could not be read: `rota import` shows their lines");
  }
  return report;
}

Status write_classes(const AuditReport& report, const std::string& path) {
  const std::string yaml = classes_yaml(report.audit.classes);
  if (yaml.empty()) {
    return usage_error("--classes-to '" + path + "': no classes are proposed: too few jobs, or "
                       "they do not fall apart into kinds; leave the option out to see the rest");
  }
  std::ofstream output(path, std::ios::binary | std::ios::trunc);
  if (output) output << yaml;
  output.close();
  if (output) return {};
  return usage_error("--classes-to: cannot write '" + path + "': " + std::strerror(errno));
}

int audit_files(Context& context, const AuditCommand& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  if (auto status = check_is_no_input("--classes-to", options.classes_to, options.history);
      !status) {
    return report_error(context, status.error());
  }
  const auto report = report_of(context, options);
  if (!report) return report_error(context, report.error());
  if (!options.classes_to.empty()) {
    if (auto status = write_classes(*report, options.classes_to); !status) {
      return report_error(context, status.error());
    }
  }
  if (*format == Format::kJson) context.out << json_of(audit_json(*report));
  else if (*format == Format::kCsv) context.out << audit_csv(*report);
  else if (*format == Format::kHtml) context.out << audit_html(*report);
  else context.out << audit_page(*report, table_style(context, options.output));
  return kExitOk;
}

}  // namespace

Runner declare_audit(CLI::App& app, Context& context) {
  auto options = std::make_shared<AuditCommand>();
  app.add_option("--on", options->on,
                 "what there is: flat:512, 64x8 or a cluster file; else the most ever held")
      ->type_name("CLUSTER")
      ->group("What");
  app.add_option("--from", options->span.from, "leave out what was before: 2026-03-02, or 7d (ago)")
      ->type_name("TIME")
      ->group("What");
  app.add_option("--until", options->span.until, "leave out what came after")
      ->type_name("TIME")
      ->group("What");
  app.add_option("--shares", options->shares,
                 "parts of the GPUs by team: vision=3,speech=1; else all teams the same")
      ->type_name("TEAM=PART,..")
      ->group("What");
  app.add_option("--classes-to", options->classes_to,
                 "write the proposed classes there, as a rota.yaml")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--hash-names", options->hash,
               "short hashes in place of the names of teams, people and nodes")
      ->group("Output");
  add_history_options(app, options->history);
  add_output_options(app, options->output, "table|json|csv|html");
  return [options, &context](const Parsed&) { return audit_files(context, *options); };
}

}  // namespace rota::cli
