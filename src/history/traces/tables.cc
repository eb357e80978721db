// Public traces that are tables: which columns they have, and what is particular to each.
#include "history/csv/table.h"

namespace rota::history {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kGiB = kMiB * 1024;

template <std::size_t N>
bool has(std::string_view sample, const std::string_view (&names)[N]) {
  return header_has(sample, names);
}

// Philly (Microsoft, 2017; also other lists in this form): submit, run time, GPUs, virtual cluster.
constexpr ColumnWord kPhilly[] = {
    {"timestamp", Role::kSubmit}, {"duration", Role::kRun}, {"num_gpus", Role::kGpus},
    {"cluster", Role::kQueue}};

// openb (Alibaba, cluster-trace-gpu-v2023). gpu_milli is the part of one GPU.
constexpr ColumnWord kOpenb[] = {
    {"name", Role::kId}, {"cpu_milli", Role::kCpuMilli}, {"memory_mib", Role::kMemory, kMiB},
    {"num_gpu", Role::kGpus}, {"gpu_milli", Role::kGpuMilli}, {"gpu_spec", Role::kModel},
    {"qos", Role::kClass}, {"pod_phase", Role::kState}, {"creation_time", Role::kSubmit},
    {"scheduled_time", Role::kStart}, {"deletion_time", Role::kEnd}};

// DLRM (Alibaba, 2025). Memory in GiB; three of ten instances have no times.
constexpr ColumnWord kDlrm[] = {
    {"instance_sn", Role::kId}, {"role", Role::kClass}, {"app_name", Role::kQueue},
    {"cpu_request", Role::kCpus}, {"gpu_request", Role::kGpus},
    {"memory_request", Role::kMemory, kGiB}, {"creation_time", Role::kSubmit},
    {"scheduled_time", Role::kStart}, {"deletion_time", Role::kEnd}};

// Muri (SIGCOMM'22 artifact). Milliseconds.
constexpr ColumnWord kMuri[] = {
    {"job_id", Role::kId}, {"num_gpu", Role::kGpus}, {"submit_time", Role::kSubmit},
    {"duration", Role::kRun}, {"model_name", Role::kName}, {"priority", Role::kPriority}};

// Helios (SenseTime, 2020). Its column `queue` is the time in the queue.
constexpr ColumnWord kHelios[] = {
    {"job_id", Role::kId}, {"user", Role::kUser}, {"vc", Role::kQueue},
    {"jobname", Role::kName}, {"gpu_num", Role::kGpus}, {"cpu_num", Role::kCpus},
    {"node_num", Role::kNodeCount}, {"state", Role::kState}, {"submit_time", Role::kSubmit},
    {"start_time", Role::kStart}, {"end_time", Role::kEnd}, {"duration", Role::kRun},
    {"queue", Role::kWait}};

// Acme (Shanghai AI Laboratory, 2023), Seren and Kalos. `queue` as in Helios.
constexpr ColumnWord kAcme[] = {
    {"job_id", Role::kId}, {"user", Role::kUser}, {"node_num", Role::kNodeCount},
    {"gpu_num", Role::kGpus}, {"cpu_num", Role::kCpus}, {"type", Role::kClass},
    {"state", Role::kState}, {"submit_time", Role::kSubmit}, {"start_time", Role::kStart},
    {"end_time", Role::kEnd}, {"duration", Role::kRun}, {"queue", Role::kWait}};

/// A pod that is gone and was running at the last look: how it ended is not known.
void forget_running(const std::vector<std::string_view>&, JobRow& row, ImportRun&) {
  if (row.outcome == Outcome::kRunning && row.ended) row.outcome = Outcome::kUnknown;
}

}  // namespace

bool is_philly(std::string_view sample) {
  return has(sample, {"timestamp", "duration", "num_gpus", "gpu_time", "cluster"});
}
bool is_openb(std::string_view sample) {
  return has(sample, {"name", "cpu_milli", "num_gpu", "gpu_milli", "creation_time"});
}
bool is_dlrm(std::string_view sample) {
  return has(sample, {"instance_sn", "app_name", "gpu_request", "creation_time"});
}
bool is_muri(std::string_view sample) {
  return has(sample, {"job_id", "num_gpu", "submit_time", "duration", "iteration_time"});
}
bool is_helios(std::string_view sample) {
  return has(sample, {"job_id", "vc", "gpu_num", "submit_time", "duration", "queue"});
}
bool is_acme(std::string_view sample) {
  return has(sample, {"job_id", "type", "gpu_num", "submit_time", "queue", "gpu_time"});
}

Status import_philly(ImportRun& run) { return import_table(run, {.words = kPhilly}); }
Status import_openb(ImportRun& run) {
  return import_table(run, {.words = kOpenb, .finish = forget_running});
}
Status import_dlrm(ImportRun& run) { return import_table(run, {.words = kDlrm}); }
Status import_muri(ImportRun& run) {
  return import_table(run, {.words = kMuri, .time_unit = TimeUnit::kMilliseconds});
}
Status import_helios(ImportRun& run) { return import_table(run, {.words = kHelios}); }
Status import_acme(ImportRun& run) { return import_table(run, {.words = kAcme}); }

}  // namespace rota::history
