#include "cli/report/devices.h"

#include <iostream>
#include <iterator>
#include <utility>

#include "audit/device_use.h"
#include "base/text.h"
#include "cli/exit_codes.h"
#include "cli/offline.h"
#include "cli/read_file.h"
#include "cli/report/show.h"
#include "cli/usage.h"
#include "report/csv.h"
#include "report/words.h"

namespace rota::cli::reports {
namespace {

std::string known_text(std::optional<double> value) {
  return value ? number_text(*value, 3) : "n/a";
}

api::Json known_json(std::optional<double> value) {
  return value ? api::Json(*value) : api::Json();
}

std::string device_name(const audit::DeviceUse& device) {
  return (device.node.empty() ? "" : device.node + ".") +
         (device.index.empty() ? device.uuid : device.index);
}

/// `utilization.device.n1.0` and the like, one figure a line.
std::string figures_csv(const audit::ClusterUse& use) {
  std::string text = report::csv_row({"figure", "value"});
  const auto add = [&](const std::string& figure, const std::string& value) {
    text += report::csv_row({figure, value});
  };
  add("devices", std::to_string(use.devices.size()));
  add("instances", std::to_string(use.instances));
  add("power_watts.cluster", known_text(use.power_watts));
  add("devices_without_power", std::to_string(use.devices_without_power));
  for (const audit::DeviceUse& device : use.devices) {
    const std::string name = device_name(device);
    add("power_watts.device." + name, known_text(device.power_watts));
    add("utilization.device." + name, known_text(device.utilization));
    add("sharers.device." + name, std::to_string(device.jobs.size()));
    for (const audit::InstanceUse& instance : device.instances) {
      add("utilization.instance." + name + "." + instance.id, known_text(instance.utilization));
    }
  }
  for (const audit::JobUse& job : use.jobs) {
    add("utilization.job." + job.name, known_text(job.utilization));
    add("power_watts.job." + job.name, known_text(job.power_watts));
  }
  return text;
}

api::Json device_json(const audit::DeviceUse& device) {
  api::Json json = api::Json::object();
  json["node"] = device.node;
  json["gpu"] = device.index;
  json["uuid"] = device.uuid;
  json["model"] = device.model;
  json["power_watts"] = known_json(device.power_watts);
  json["utilization_percent"] = known_json(device.utilization);
  json["jobs"] = device.jobs;
  json["instances"] = api::Json::array();
  for (const audit::InstanceUse& instance : device.instances) {
    api::Json one = api::Json::object();
    one["id"] = instance.id;
    one["profile"] = instance.profile;
    one["utilization_percent"] = known_json(instance.utilization);
    one["jobs"] = instance.jobs;
    json["instances"].push_back(std::move(one));
  }
  return json;
}

api::Json devices_json(const audit::ClusterUse& use) {
  api::Json json = api::Json::object();
  json["report"] = "devices";
  json["power_watts"] = known_json(use.power_watts);
  json["devices_without_power"] = use.devices_without_power;
  json["devices"] = api::Json::array();
  for (const audit::DeviceUse& device : use.devices) json["devices"].push_back(device_json(device));
  json["jobs"] = api::Json::array();
  for (const audit::JobUse& job : use.jobs) {
    api::Json one = api::Json::object();
    one["job"] = job.name;
    one["devices"] = job.devices;
    one["instances"] = job.instances;
    one["utilization_percent"] = known_json(job.utilization);
    one["power_watts"] = known_json(job.power_watts);
    json["jobs"].push_back(std::move(one));
  }
  return json;
}

report::Table devices_table(const audit::ClusterUse& use) {
  report::Table table({{"DEVICE"},
                       {"MODEL", Align::kLeft, true},
                       {"WATTS", Align::kRight},
                       {"UTILIZATION", Align::kRight},
                       {"JOBS", Align::kLeft, true}});
  const auto percent = [](std::optional<double> value) {
    return value ? number_text(*value, 1) + " %" : "n/a";
  };
  for (const audit::DeviceUse& device : use.devices) {
    const bool is_shared = device.jobs.size() > 1 && device.instances.empty();
    table.add_row({{device_name(device)},
                   {device.model},
                   {device.power_watts ? number_text(*device.power_watts, 1) : "n/a"},
                   {percent(device.utilization)},
                   {device.instances.empty() ? join(device.jobs, " ") +
                                                   (is_shared ? " (shared)" : "")
                                             : ""}});
    for (const audit::InstanceUse& instance : device.instances) {
      table.add_row({{"  " + device_name(device) + "." + instance.id},
                     {instance.profile},
                     {""},
                     {percent(instance.utilization)},
                     {join(instance.jobs, " ")}});
    }
  }
  return table;
}

Result<std::string> scrape_text(const std::string& file) {
  if (file != "-") return read_text(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

}  // namespace

int report_devices(Context& context, const DevicesOptions& options) {
  const auto text = scrape_text(options.file);
  if (!text) return report_error(context, text.error());
  const auto lines = audit::parse_metric_text(*text, options.file);
  if (!lines) return report_error(context, lines.error());
  const audit::ClusterUse use = audit::device_use_of(*lines);
  if (use.devices.empty()) {
    return report_error(context, usage_error("no device is in it; expected what DCGM's exporter "
                                             "prints (DCGM_FI_... series with a label gpu)",
                                             options.file));
  }
  Page page{.title = "Devices in one scrape",
            .facts = {},
            .parts = {},
            .table = devices_table(use),
            .foot = report::counted(std::ssize(use.devices), "device") + ", " +
                    known_text(use.power_watts) + " W. n/a: cannot be known from this scrape.\n",
            .json = devices_json(use),
            .csv = figures_csv(use),
            .notes = {}};
  if (use.devices_without_power > 0) {
    page.notes.push_back("the power of " +
                         report::counted(use.devices_without_power, "device") + " is not told");
  }
  return print_page(context, options.output, std::move(page));
}

}  // namespace rota::cli::reports
