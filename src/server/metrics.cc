#include "server/metrics.h"

#include <fmt/format.h>

#include <iterator>
#include <tuple>

#include "server/wire.h"

namespace rota::server {
namespace {

const std::vector<double>& wait_bounds() {
  static const std::vector<double> kBounds = {1,    5,    15,    60,    300,   900,
                                              1800, 3600, 14400, 43200, 86400, 604800};
  return kBounds;
}
const std::vector<double>& cycle_bounds() {
  static const std::vector<double> kBounds = {0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5};
  return kBounds;
}

/// A label's value with the three characters that the format escapes.
std::string escaped(const std::string& value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

class Page {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                   type);
  }
  template <class T>
  void line(std::string_view name, const std::vector<std::pair<std::string, std::string>>& labels,
            T value) {
    text_ += name;
    if (!labels.empty()) {
      std::string_view separator = "{";
      for (const auto& [key, word] : labels) {
        fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", separator, key, escaped(word));
        separator = ",";
      }
      text_ += "}";
    }
    fmt::format_to(std::back_inserter(text_), " {}\n", value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_jobs(const engine::Engine& engine, const JobBook& book, Page& page) {
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> counts;
  for (const JobId id : engine.live_jobs()) {
    const Result<JobStatus> status = engine.job(id);
    if (!status.ok()) continue;
    const JobRecord* record = book.find(id);
    ++counts[{std::string(name_of(status->state)),
              record == nullptr ? std::string() : record->submission->job_class,
              status->spec->queue}];
  }
  page.family("rota_jobs", "gauge", "Jobs that are not final.");
  for (const auto& [key, count] : counts) {
    const auto& [state, job_class, queue] = key;
    page.line("rota_jobs", {{"state", state}, {"class", job_class}, {"queue", queue}}, count);
  }
}

/// Join keys equal those of dcgm-exporter, so that both can be combined.
void add_devices(const std::vector<api::Device>& devices, Page& page) {
  const auto labels = [](const api::Device& device) {
    return std::vector<std::pair<std::string, std::string>>{
        {"Hostname", device.node}, {"gpu", std::to_string(device.index)}, {"UUID", device.uuid}};
  };
  page.family("rota_gpu_allocated", "gauge", "Part of the device given out, 0 to 1.");
  for (const api::Device& device : devices) {
    page.line("rota_gpu_allocated", labels(device), device.used);
  }
  page.family("rota_gpu_busy_ratio", "gauge", "Measured use; missing where not measurable.");
  for (const api::Device& device : devices) {
    if (device.busy_ratio) page.line("rota_gpu_busy_ratio", labels(device), *device.busy_ratio);
  }
  page.family("rota_gpu_health", "gauge", "1 healthy, 0 not.");
  for (const api::Device& device : devices) {
    page.line("rota_gpu_health", labels(device), device.state == "unhealthy" ? 0 : 1);
  }
}

double gpu_seconds(Int128 milli_gpu_nanoseconds) {
  return gpu_hours_of(milli_gpu_nanoseconds) * 3600.0;
}

void add_queues(const engine::Engine& engine, Page& page) {
  const ClusterStatus cluster = engine.cluster();
  page.family("rota_gpu_seconds_total", "counter",
              "GPU time by queue: kept (held and not lost), lost (to evictions and failures); "
              "unallocated capacity has no queue.");
  for (const std::string& name : engine.queue_names()) {
    const Result<QueueStatus> queue = engine.queue(name);
    if (!queue.ok()) continue;
    page.line("rota_gpu_seconds_total", {{"queue", name}, {"kind", "kept"}},
              gpu_seconds(queue->gpu_time - queue->gpu_time_lost));
    page.line("rota_gpu_seconds_total", {{"queue", name}, {"kind", "lost"}},
              gpu_seconds(queue->gpu_time_lost));
  }
  page.line("rota_gpu_seconds_total", {{"queue", ""}, {"kind", "unallocated"}},
            gpu_seconds(cluster.gpu_time_healthy - cluster.gpu_time));
  page.family("rota_share_delivered_ratio", "gauge",
              "GPU time got of what the queue was owed; missing when nothing was owed.");
  for (const std::string& name : engine.queue_names()) {
    const Result<QueueStatus> queue = engine.queue(name);
    if (!queue.ok() || queue->owed <= 0) continue;
    page.line("rota_share_delivered_ratio", {{"queue", name}},
              gpu_hours_of(queue->delivered) / gpu_hours_of(queue->owed));
  }
  page.family("rota_fragmentation_largest_gang_gpus", "gauge", "Whole free GPUs on one node.");
  page.line("rota_fragmentation_largest_gang_gpus", {}, cluster.largest_hole);
}

}  // namespace

void Metrics::observe(Histogram& histogram, const std::vector<double>& bounds, double value) {
  histogram.buckets.resize(bounds.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (value <= bounds[i]) ++histogram.buckets[i];
  }
  histogram.sum += value;
  ++histogram.count;
}

void Metrics::cycle(double seconds) {
  ++cycles_;
  last_cycle_seconds_ = seconds;
  observe(cycle_seconds_, cycle_bounds(), seconds);
}

void Metrics::first_start(const std::string& job_class, Duration wait) {
  observe(wait_seconds_[job_class], wait_bounds(), seconds_of(wait));
}

void Metrics::attempt_ended(const std::string& result) { ++attempts_[result]; }
void Metrics::stopped(const std::string& cause) { ++stops_[cause]; }

std::string Metrics::text(const engine::Engine& engine, const JobBook& book,
                          const std::vector<api::Device>& devices, const Sample& sample) const {
  Page page;
  const auto histogram = [&](std::string_view name, const Histogram& data,
                             const std::vector<double>& bounds,
                             std::vector<std::pair<std::string, std::string>> labels) {
    const std::string base(name);
    labels.emplace_back("le", "");
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      labels.back().second = fmt::format("{}", bounds[i]);
      page.line(base + "_bucket", labels, i < data.buckets.size() ? data.buckets[i] : 0);
    }
    labels.back().second = "+Inf";
    page.line(base + "_bucket", labels, data.count);
    labels.pop_back();
    page.line(base + "_sum", labels, data.sum);
    page.line(base + "_count", labels, data.count);
  };
  const auto counters = [&](std::string_view name, std::string_view help, std::string_view label,
                            const std::map<std::string, std::uint64_t>& counts) {
    page.family(name, "counter", help);
    for (const auto& [word, count] : counts) {
      page.line(name, {{std::string(label), word}}, count);
    }
  };
  page.family("rota_build_info", "gauge", "The version that runs.");
  page.line("rota_build_info", {{"version", sample.version}}, 1);
  page.family("rota_healthy", "gauge", "1: cycles advance and storage works.");
  page.line("rota_healthy", {}, sample.healthy ? 1 : 0);
  add_jobs(engine, book, page);
  page.family("rota_job_wait_seconds", "histogram", "From submit to first start.");
  for (const auto& [job_class, data] : wait_seconds_) {
    histogram("rota_job_wait_seconds", data, wait_bounds(), {{"class", job_class}});
  }
  counters("rota_job_attempts_total", "Ended attempts.", "result", attempts_);
  counters("rota_preemptions_total", "Attempts told to stop, by cause.", "rule", stops_);
  add_devices(devices, page);
  add_queues(engine, page);
  page.family("rota_sched_cycles_total", "counter", "Scheduling cycles.");
  page.line("rota_sched_cycles_total", {}, cycles_);
  page.family("rota_sched_cycle_seconds", "histogram", "Duration of a cycle.");
  histogram("rota_sched_cycle_seconds", cycle_seconds_, cycle_bounds(), {});
  page.family("rota_orders_open", "gauge", "Orders to the back-end whose attempts are not over.");
  page.line("rota_orders_open", {}, sample.orders);
  page.family("rota_events_total", "counter", "Events of the stream so far.");
  page.line("rota_events_total", {}, sample.last_event_seq);
  page.family("rota_commits_failed_total", "counter", "Journal commits that failed.");
  page.line("rota_commits_failed_total", {}, commits_failed_);
  return page.take();
}

}  // namespace rota::server
