// The list of formats, and which one an input is in.
#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "history/csv/table.h"
#include "history/importer.h"

namespace rota::history {
namespace {

constexpr std::string_view kGeneric = "csv";

constexpr auto kFormats = std::to_array<HistoryFormat>({
    {"sacct", "Slurm: sacct -P, any columns, with or without -D", is_sacct_text,
     import_sacct_text},
    {"sacct-json", "Slurm: sacct --json, of release 21.08 and later", is_sacct_json,
     import_sacct_json},
    {"squeue-json", "Slurm: squeue --json and scontrol show jobs --json", is_squeue_json,
     import_squeue_json},
    {"jobcomp", "Slurm: the text of JobCompType=jobcomp/filetxt", is_jobcomp, import_jobcomp},
    {"kubernetes", "Kubernetes: kubectl get pods,jobs,events,nodes -A -o json", is_kubernetes,
     import_kubernetes},
    {"kai-snapshot", "Kubernetes: the KAI scheduler's /get-snapshot, as zip or unpacked",
     is_kai_snapshot, import_kai_snapshot},
    {"rota", "Rota: what `rota import --to FILE` writes", is_rota_csv, import_rota_csv},
    {"rota-jobs", "Rota: rota history -o csv", is_rota_jobs_csv, import_rota_jobs_csv},
    {"rota-jobs-json", "Rota: rota history -o json, rota show -o json", is_rota_jobs_json,
     import_rota_jobs_json},
    {"philly", "Microsoft Philly as a table: timestamp, duration, num_gpus, ...", is_philly,
     import_philly},
    {"philly-json", "Microsoft Philly: cluster_job_log", is_philly_json, import_philly_json},
    {"openb", "Alibaba openb: tasks of cluster-trace-gpu-v2023", is_openb, import_openb},
    {"dlrm", "Alibaba DLRM instances of 2025", is_dlrm, import_dlrm},
    {"muri", "Muri's traces", is_muri, import_muri},
    {"helios", "SenseTime Helios: cluster_log.csv", is_helios, import_helios},
    {"acme", "Acme: trace_seren.csv and trace_kalos.csv", is_acme, import_acme},
    {"swf", "Standard Workload Format; --map gpus=processors where these are GPUs", is_swf,
     import_swf},
    {kGeneric, "CSV with a header; other names of columns by --map", is_csv, import_csv},
});

std::string list_of_formats() {
  std::string text;
  for (const HistoryFormat& format : kFormats) {
    text += "\n  " + std::string(format.name);
    text.append(format.name.size() < 16 ? 16 - format.name.size() : 1, ' ');
    text += format.description;
  }
  return text;
}

Error unknown_input(const std::string& file, std::string_view sample) {
  std::string line(first_line(sample).substr(0, 120));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  }
  return {ErrorCode::kInvalidArgument,
          "the format of this input is not known; it begins with '" + line +
              "'. Say it with --format, or name the columns of a table with --map. Known formats:" +
              list_of_formats(),
          file + ":1:1"};
}

}  // namespace

std::span<const HistoryFormat> history_formats() { return kFormats; }

const HistoryFormat* find_history_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [&](const HistoryFormat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

Result<const HistoryFormat*> history_format_named(const std::string& name) {
  if (const HistoryFormat* found = find_history_format(name)) return found;
  std::vector<std::string> names;
  names.reserve(std::size(kFormats));
  for (const HistoryFormat& format : kFormats) names.emplace_back(format.name);
  const std::string_view near = nearest_word(name, names);
  return Error{ErrorCode::kInvalidArgument,
               "unknown format '" + name + "'" +
                   (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?") +
                   " Known formats:" + list_of_formats()};
}

std::string_view first_line(std::string_view sample) {
  while (!sample.empty()) {
    const std::size_t end = std::min(sample.find('\n'), sample.size());
    std::string_view line = sample.substr(0, end);
    sample.remove_prefix(std::min(end + 1, sample.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!stripped(line).empty() && line.front() != '#') return line;
  }
  return {};
}

Result<const HistoryFormat*> detect_history_format(std::string_view sample,
                                                   const std::string& file,
                                                   const ColumnMap& map) {
  if (sample.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error{ErrorCode::kInvalidArgument, "the file is empty", file + ":1:1"};
  }
  std::vector<const HistoryFormat*> found;
  for (const HistoryFormat& format : kFormats) {
    if (format.name != kGeneric && format.matches(sample)) found.push_back(&format);
  }
  if (!map.columns.empty()) found.clear();  // whoever maps columns reads a table
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    std::vector<std::string> names;
    names.reserve(found.size());
    for (const HistoryFormat* format : found) names.emplace_back(format->name);
    return Error{ErrorCode::kInvalidArgument,
                 "this input looks like " + join(names, " and like ") +
                     "; say which with --format",
                 file + ":1:1"};
  }
  if (!map.empty() || is_csv(sample)) return find_history_format(kGeneric);
  return unknown_input(file, sample);
}

}  // namespace rota::history
