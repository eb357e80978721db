#include "cli/offline.h"

#include <fstream>

#include "cli/output.h"
#include "cli/read_file.h"
#include "sim/scenario.h"

namespace rota::cli {
namespace {

Result<std::vector<NodeSpec>> nodes_of_file(const std::string& file) {
  const auto text = read_text(file);
  if (!text) {
    return usage_error("--on '" + file + "': expected flat:512 (one pool), 64x8 (64 nodes of 8), "
                       "or a file with `node` lines; " + text.error().message);
  }
  const auto scenario = sim::scenario_from(*text, file);
  if (!scenario) return scenario.error();
  std::vector<NodeSpec> nodes;
  for (const sim::Statement& statement : scenario->stage) {
    const auto* found = std::get_if<sim::NodeStatement>(&statement.body);
    if (found != nullptr) nodes.insert(nodes.end(), found->nodes.begin(), found->nodes.end());
  }
  if (nodes.empty()) return usage_error("--on '" + file + "': the file declares no node");
  return nodes;
}

}  // namespace

Result<std::vector<NodeSpec>> cluster_of(const std::string& text) {
  constexpr std::int64_t kMax = 1'000'000;
  if (text.starts_with("flat:")) {
    const auto gpus = parse_int(std::string_view(text).substr(5));
    if (!gpus || *gpus < 1 || *gpus > kMax) {
      return usage_error("--on '" + text + "': expected flat:GPUS with 1 to 1,000,000 GPUs, like "
                         "flat:512");
    }
    return sim::uniform_nodes(1, *gpus);
  }
  const std::size_t cross = text.find('x');
  if (cross != std::string::npos) {
    const auto count = parse_int(std::string_view(text).substr(0, cross));
    const auto gpus = parse_int(std::string_view(text).substr(cross + 1));
    if (count && gpus) {
      if (*count < 1 || *gpus < 1 || *count > kMax / *gpus) {
        return usage_error("--on '" + text + "': expected NODESxGPUS with 1 to 1,000,000 GPUs in "
                           "all, like 64x8");
      }
      return sim::uniform_nodes(*count, *gpus);
    }
  }
  return nodes_of_file(text);
}

Progress::~Progress() {
  if (context_.err_is_terminal) context_.err << "\r\033[K" << std::flush;
}

void Progress::show(std::int64_t done, std::int64_t whole) {
  if (!context_.err_is_terminal) return;
  context_.err << "\r" << label_ << " [" << report::bar(done, whole, 30) << "] "
               << done * 100 / whole << "%" << std::flush;
}

std::int64_t rounded_seconds(Duration d) {
  return (d + Duration::milliseconds(500)).whole_seconds();
}

api::Json spread_json(const sim::Spread& spread) {
  api::Json json = api::Json::object();
  json["mean"] = rounded_seconds(spread.mean);
  json["p50"] = rounded_seconds(spread.p50);
  json["p90"] = rounded_seconds(spread.p90);
  json["p99"] = rounded_seconds(spread.p99);
  json["max"] = rounded_seconds(spread.max);
  return json;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace rota::cli
