#include "cli/report/cluster.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "cli/offline.h"
#include "cli/report/table_file.h"
#include "cli/usage.h"
#include "history/words.h"
#include "report/words.h"

namespace rota::cli::reports {
namespace {

bool is_out_of_service(NodeState state) {
  return state == NodeState::kDrained || state == NodeState::kQuarantined ||
         state == NodeState::kDown;
}

std::uint32_t pool_of_model(const ReportInput& input, std::string_view model) {
  const auto found =
      std::find_if(input.pools.begin(), input.pools.end(),
                   [&](const ReportPool& pool) { return pool.model == model; });
  return static_cast<std::uint32_t>(found - input.pools.begin());
}

void add_outage(const NodeSpec& node, const Period& when, ReportInput& input) {
  for (const DeviceSpec& device : node.devices) {
    input.usage.outages.push_back(
        {when.begin, when.end, kWholeGpu, pool_of_model(input, device.model)});
  }
}

std::vector<Period> merged(std::vector<Period> times) {
  std::sort(times.begin(), times.end(), [](const Period& a, const Period& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::vector<Period> result;
  for (const Period& time : times) {
    if (!result.empty() && time.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, time.end);
    } else {
      result.push_back(time);
    }
  }
  return result;
}

Result<std::map<std::string, std::vector<Period>>> read_outages(const std::string& file,
                                                                const ReportInput& input) {
  const auto table = TableFile::read(file);
  if (!table) return usage_error("--drained: " + table.error().message, table.error().where);
  const auto node = table->needed({"node", "nodename"});
  if (!node) return node.error();
  const auto start = table->needed({"start", "timestart", "from"});
  if (!start) return start.error();
  const auto end = table->needed({"end", "timeend", "until"});
  if (!end) return end.error();
  std::map<std::string, std::vector<Period>> outages;
  for (const TableFile::Row& row : table->rows()) {
    if (row.fields[*node].empty()) continue;
    const auto names = expand_names(row.fields[*node]);
    if (!names) return table->error_at(row, names.error().message);
    const auto begin = history::parse_instant(row.fields[*start], history::TimeUnit::kSeconds);
    if (!begin) return table->error_at(row, "'" + row.fields[*start] + "' is no time");
    const std::string& until = row.fields[*end];
    auto stop = history::parse_instant(until, history::TimeUnit::kSeconds);
    if (!stop && !until.empty() && !history::same_word(until, "unknown")) {
      return table->error_at(row, "'" + until + "' is no time; leave it empty while it lasts");
    }
    if (!stop) stop = std::max(*begin, input.usage.end);
    if (*stop < *begin) return table->error_at(row, "it ends before it starts");
    for (const std::string& name : *names) outages[name].push_back({*begin, *stop});
  }
  return outages;
}

}  // namespace

Result<std::vector<NodeSpec>> report_cluster_of(const std::string& on) {
  if (on.empty()) return std::vector<NodeSpec>();
  auto nodes = cluster_of(on);
  if (!nodes) return nodes;
  std::erase_if(*nodes, [](const NodeSpec& node) { return node.state == NodeState::kFuture; });
  const bool has_gpu = std::any_of(nodes->begin(), nodes->end(),
                                   [](const NodeSpec& node) { return !node.devices.empty(); });
  if (!has_gpu) return usage_error("--on '" + on + "': none of its nodes has a GPU");
  return nodes;
}

void add_cluster(const std::vector<NodeSpec>& nodes, ReportInput& input) {
  std::map<std::string, std::set<MicroMoney>> prices;
  for (const NodeSpec& node : nodes) {
    for (const DeviceSpec& device : node.devices) {
      const std::uint32_t pool = pool_of_model(input, device.model);
      if (pool == input.pools.size()) {
        input.pools.push_back({device.model, {}});
        input.usage.capacity.emplace_back();
      }
      input.usage.capacity[pool] += kWholeGpu;
      prices[device.model].insert(node.cost);
    }
    if (is_out_of_service(node.state)) add_outage(node, input.period(), input);
  }
  for (ReportPool& pool : input.pools) {
    const std::set<MicroMoney>& found = prices[pool.model];
    if (found.size() == 1 && *found.begin() > MicroMoney()) pool.price = *found.begin();
  }
}

Status add_outages(const std::string& file, const std::vector<NodeSpec>& nodes,
                   ReportInput& input) {
  auto outages = read_outages(file, input);
  if (!outages) return outages.error();
  for (const NodeSpec& node : nodes) {
    const auto found = outages->find(node.name);
    if (found == outages->end()) continue;
    if (!is_out_of_service(node.state)) {
      for (const Period& when : merged(found->second)) add_outage(node, when, input);
    }
    outages->erase(found);
  }
  if (!outages->empty()) {
    input.notes.push_back(report::counted(std::ssize(*outages), "node") + " of '" + file +
                          "', like " + outages->begin()->first + ", " +
                          (outages->size() == 1 ? "is" : "are") + " not in the cluster");
  }
  return {};
}

}  // namespace rota::cli::reports
