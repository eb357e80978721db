// Dumps of the Kubernetes API: `kubectl get pods,jobs,events,nodes -A -o json`, in one list or
// several files; and the snapshot of the KAI scheduler, whose `rawObjects` are such lists by name
// (https://github.com/kai-scheduler/KAI-Scheduler, pkg/scheduler/plugins/snapshot).
//
// A job is what pods belong to: a JobSet, a training job, a pod group, a Job; a pod alone is a job
// of its own, and so is each replica of a service. Its pods that live at the same time are one
// attempt; pods made after all before them ended are the next. An attempt holds its devices from
// the binding of its first pod to the end of its last.
// Nodes tell the model of the devices, events why pods waited and who was preempted. Pod groups
// tell the queue and the priority class that count for their pods, and why they wait; requests to
// bind tell where pods go that have no node yet. Memory: about 200 bytes a pod until the end of the
// dump.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "history/importer.h"
#include "history/json_items.h"
#include "history/kubernetes/pod.h"
#include "history/words.h"

namespace rota::history {
namespace {

/// A job object, by the name that its pods carry.
struct JobFacts {
  Maybe<Instant> created;
  Maybe<Instant> started;
  Maybe<Instant> ended;
  Maybe<Duration> time_limit;
  Name queue;
  Name job_class;  // of a pod group
  Name name;       // of what a pod group was made for
  Name reason;     // why a pod group waits
  GpuSetId gpus;   // of all its pods, by its template
  Outcome outcome = Outcome::kUnknown;
  bool is_group = false;
  bool has_pods = false;
};

/// KAI's decision to bind a pod, which its binder carries out.
struct BindFacts {
  Maybe<Instant> created;
  Name node;
  std::int64_t milli = 0;  // of shared devices; 0: not told
};

struct EventFacts {
  Name waits_for;
  Outcome outcome = Outcome::kUnknown;
};

/// The kind of an item; lists of the API itself leave it out.
std::string_view kind_of(const Json& item) {
  const std::string_view kind = json_text(item, {"kind"});
  if (!kind.empty()) return kind;
  if (item.contains("involvedObject") || item.contains("regarding")) return "Event";
  if (json_at(item, {"spec", "containers"}) != nullptr) return "Pod";
  if (json_at(item, {"status", "nodeInfo"}) != nullptr) return "Node";
  if (json_at(item, {"spec", "template"}) != nullptr) return "Job";
  return {};
}

class DumpReader : public LaterRows {
 public:
  explicit DumpReader(HistoryBuilder& builder) : builder_(builder) {}

  void begin(const std::string& file) { file_ = builder_.names().intern(file); }

  void read(const Json& item, std::int64_t number) {
    read_as(kind_of(item), item, number);
  }

  void read_as(std::string_view kind, const Json& item, std::int64_t number) {
    if (kind == "Pod") return read_pod(item, number);
    if (kind == "Node") return read_node(item);
    if (kind == "Event") return read_event(item);
    if (kind == "BindRequest") return read_bind(item);
    if (kind == "PriorityClass") return read_class(item);
    if (json_at(item, {"metadata", "name"}) != nullptr &&
        (kind.ends_with("Job") || kind == "JobSet" || kind == "PodGroup")) {
      return read_job(item, number, kind);
    }
    count(RowFate::kPassedOver, "an object that is no pod, job, node or event", {file_, number},
          kind);
  }

  void add_all() override {
    for (Held& pod : pods_) follow_bind(pod.facts);
    std::stable_sort(pods_.begin(), pods_.end(), [](const Held& a, const Held& b) {
      return std::pair(a.facts.group, a.facts.created) < std::pair(b.facts.group, b.facts.created);
    });
    for (std::size_t at = 0; at < pods_.size();) at = add_attempt(at);
    add_jobs_without_pods();
    if (restarted_) {
      builder_.notes().remark("containers were restarted inside their pods; a dump does not "
                                  "tell when");
    }
  }

 private:
  /// An item of a file.
  struct Item {
    Name file;
    std::int64_t number = 0;
  };
  [[nodiscard]] RowPlace place(const Item& item) {
    return {.file = text(item.file), .item = item.number};
  }
  void count(RowFate fate, std::string_view kind, const Item& item, std::string_view what) {
    builder_.count(fate, kind, place(item), what);
  }
  struct Held {
    PodFacts facts;
    Item item;
  };
  struct Job {
    JobFacts facts;
    Item item;
  };
  [[nodiscard]] std::string_view text(Name name) { return builder_.names().text(name); }

  void read_pod(const Json& pod, std::int64_t number) {
    PodFacts facts = pod_facts(pod, builder_.names(), builder_.gpus());
    if (facts.of_daemon) {
      count(RowFate::kPassedOver, "a pod that every node has", {file_, number}, text(facts.name));
      return;
    }
    if (facts.for_others) {
      count(RowFate::kPassedOver, "a pod that holds a device for those who share it",
            {file_, number}, text(facts.name));
      return;
    }
    restarted_ = restarted_ || facts.restarted;
    pods_.push_back({facts, {file_, number}});
  }

  void read_node(const Json& node) {
    NameTable& names = builder_.names();
    models_[names.intern(json_text(node, {"metadata", "name"})).index] =
        names.intern(json_text(node, {"metadata", "labels", "nvidia.com/gpu.product"}));
  }

  void read_class(const Json& priority_class) {
    const auto value = json_whole(priority_class, {"value"});
    if (!value) return;
    classes_[builder_.names().intern(json_text(priority_class, {"metadata", "name"})).index] =
        *value;
  }

  void read_bind(const Json& request) {
    const std::string_view pod = json_text(request, {"spec", "podName"});
    if (pod.empty() || json_text(request, {"status", "phase"}) == "Failed") return;
    NameTable& names = builder_.names();
    BindFacts facts;
    facts.created = api_time(request, {"metadata", "creationTimestamp"});
    facts.node = names.intern(json_text(request, {"spec", "selectedNode"}));
    const auto portion = parse_milli(json_text(request, {"spec", "receivedGPU", "portion"}));
    const auto devices = json_whole(request, {"spec", "receivedGPU", "count"}).value_or(1);
    if (portion && *portion <= 1000 && devices > 0 && devices <= 1000) {
      facts.milli = *portion * devices;
    }
    const std::string_view space = json_text(request, {"metadata", "namespace"});
    binds_[names.intern((space.empty() ? "default" : std::string(space)) + "/" +
                        std::string(pod)).index] = facts;
  }

  /// A pod that is to be bound holds its devices from the decision on.
  void follow_bind(PodFacts& pod) {
    const auto found = binds_.find(pod.name.index);
    if (found == binds_.end()) return;
    const BindFacts& bind = found->second;
    if (pod.node.empty() && !has_ended(pod.outcome)) {
      pod.node = bind.node;
      if (!pod.bound) pod.bound = bind.created;
    }
    const auto items = builder_.gpus().items(pod.gpus);
    if (bind.milli > 0 && items.size() == 1 && text(items.front().partition) == "shared") {
      pod.gpus = builder_.gpus().intern({{.model = {}, .partition = {}, .milli = bind.milli}},
                                        builder_.names());
    }
  }

  void read_event(const Json& event) {
    for (const char* where : {"involvedObject", "regarding"}) {
      if (json_text(event, {where, "kind"}) != "Pod") continue;
      const std::string name = std::string(json_text(event, {where, "namespace"})) + "/" +
                               std::string(json_text(event, {where, "name"}));
      EventFacts& facts = events_[builder_.names().intern(name).index];
      const std::string_view reason = json_text(event, {"reason"});
      std::string_view message = json_text(event, {"message"});
      if (message.empty()) message = json_text(event, {"note"});
      if (reason == "FailedScheduling") {
        facts.waits_for = builder_.names().intern(message.substr(0, 300));
      } else if (reason == "Preempted") {
        facts.outcome = Outcome::kPreempted;
      } else if (reason == "NodeNotReady" || reason == "TaintManagerEviction") {
        facts.outcome = Outcome::kNodeFailed;
      }
    }
  }

  void read_job(const Json& job, std::int64_t number, std::string_view kind) {
    NameTable& names = builder_.names();
    JobFacts facts;
    facts.created = api_time(job, {"metadata", "creationTimestamp"});
    facts.started = api_time(job, {"status", "startTime"});
    facts.ended = api_time(job, {"status", "completionTime"});
    facts.queue = names.intern(queue_of(job));
    const auto limit = json_whole(job, {"spec", "activeDeadlineSeconds"});
    if (limit && *limit > 0 && *limit < 3'000'000'000) facts.time_limit = Duration::seconds(*limit);
    conditions(job, facts);
    if (const Json* spec = json_at(job, {"spec", "template", "spec"}); spec && kind == "Job") {
      std::vector<GpuItem> items =
          devices_of(*spec, json_at(job, {"spec", "template", "metadata", "annotations"}), names);
      const auto pods = json_whole(job, {"spec", "parallelism"});
      const std::int64_t times = std::clamp<std::int64_t>(pods.value_or(1), 0, 100'000);
      for (GpuItem& item : items) item.milli = std::min(item.milli, 1'000'000L) * times;
      facts.gpus = builder_.gpus().intern(std::move(items), names);
    }
    if (kind == "PodGroup") read_group(job, facts);
    jobs_[names.intern(object_name(job)).index] = {facts, {file_, number}};
  }

  /// What a pod group of KAI (or Volcano) tells beyond any job.
  void read_group(const Json& group, JobFacts& facts) {
    NameTable& names = builder_.names();
    facts.is_group = true;
    const std::string_view queue = json_text(group, {"spec", "queue"});
    if (!queue.empty()) facts.queue = names.intern(queue);
    facts.job_class = names.intern(json_text(group, {"spec", "priorityClassName"}));
    const Json* owners = json_at(group, {"metadata", "ownerReferences"});
    if (owners != nullptr && owners->is_array() && !owners->empty()) {
      facts.name = names.intern(json_text(owners->front(), {"name"}));
    }
    if (facts.outcome == Outcome::kUnknown) {
      const std::string_view phase = json_text(group, {"status", "phase"});
      facts.outcome = outcome_from(phase).value_or(Outcome::kUnknown);
    }
    const Json* waits = json_at(group, {"status", "schedulingConditions"});
    if (waits == nullptr || !waits->is_array() || waits->empty()) return;
    const Json& latest = waits->back();
    std::string_view why = json_text(latest, {"message"});
    const Json* reasons = json_at(latest, {"reasons"});
    if (reasons != nullptr && reasons->is_array() && !reasons->empty()) {
      const std::string_view message = json_text(reasons->front(), {"message"});
      why = message.empty() ? json_text(reasons->front(), {"reason"}) : message;
    }
    facts.reason = names.intern(why.substr(0, 300));
  }

  static void conditions(const Json& job, JobFacts& facts) {
    const Json* list = json_at(job, {"status", "conditions"});
    if (list == nullptr || !list->is_array()) return;
    for (const Json& entry : *list) {
      if (json_text(entry, {"status"}) != "True") continue;
      const std::string_view type = json_text(entry, {"type"});
      const bool well = type == "Complete" || type == "Completed" || type == "Succeeded";
      if (!well && type != "Failed") continue;
      facts.outcome = well ? Outcome::kCompleted
                      : json_text(entry, {"reason"}) == "DeadlineExceeded" ? Outcome::kTimeLimit
                                                                           : Outcome::kFailed;
      if (!facts.ended) facts.ended = api_time(entry, {"lastTransitionTime"});
    }
  }

  /// The model of the devices on a pod's node; that of its selector where the node is not told.
  [[nodiscard]] Name model_of(const PodFacts& pod) const {
    const auto node = models_.find(pod.node.index);
    const bool told = !pod.node.empty() && node != models_.end() && !node->second.empty();
    return told ? node->second : pod.model;
  }
  void add_items(const PodFacts& pod, Name model, std::vector<GpuItem>& into) {
    for (GpuItem item : builder_.gpus().items(pod.gpus)) {
      item.model = model;
      into.push_back(item);
    }
  }

  /// A pod's own end, sharpened by what events tell of it.
  Outcome outcome_of(const PodFacts& pod) {
    const auto event = events_.find(pod.name.index);
    const bool vague = pod.outcome == Outcome::kFailed || pod.outcome == Outcome::kRequeued;
    if (event == events_.end() || !vague || event->second.outcome == Outcome::kUnknown) {
      return pod.outcome;
    }
    return event->second.outcome;
  }

  /// Over the pods of one attempt.
  struct Sum {
    std::vector<GpuItem> held;
    std::vector<GpuItem> wanted;
    std::vector<Name> nodes;
  };

  /// Adds the pods from `begin` on that make up one attempt; returns the place behind them.
  std::size_t add_attempt(std::size_t begin) {
    const PodFacts& first = pods_[begin].facts;
    JobRow row;
    Sum sum;
    std::optional<Instant> last_end;
    bool all_ended = true;
    std::size_t at = begin;
    for (; at < pods_.size() && pods_[at].facts.group == first.group; ++at) {
      const PodFacts& pod = pods_[at].facts;
      const bool next = at > begin && all_ended && last_end && pod.created &&
                        *pod.created >= *last_end;
      if (next) break;
      include(pod, row, sum);
      if (pod.ended) last_end = last_end ? std::max(*last_end, *pod.ended) : *pod.ended;
      else all_ended = false;
    }
    if (all_ended) row.ended = last_end;
    std::string nodes;
    for (const Name node : sum.nodes) nodes += (nodes.empty() ? "" : ",") + std::string(text(node));
    row.nodes = nodes;
    if (!sum.nodes.empty()) row.node_count = std::ssize(sum.nodes);
    row.gpus_held = builder_.gpus().intern(std::move(sum.held), builder_.names());
    row.gpus_wanted = builder_.gpus().intern(std::move(sum.wanted), builder_.names());
    const bool is_last = at >= pods_.size() || pods_[at].facts.group != first.group;
    describe(row, first, begin, is_last);
    builder_.add(row, place(pods_[begin].item));
    return at;
  }

  void include(const PodFacts& pod, JobRow& row, Sum& sum) {
    const auto earlier = [](std::optional<Instant>& into, Maybe<Instant> at) {
      if (at && (!into || *at < *into)) into = *at;
    };
    earlier(row.submitted, pod.created);
    earlier(row.started, pod.bound);
    add_items(pod, model_of(pod), sum.held);
    add_items(pod, pod.model, sum.wanted);
    if (!pod.node.empty() &&
        std::find(sum.nodes.begin(), sum.nodes.end(), pod.node) == sum.nodes.end()) {
      sum.nodes.push_back(pod.node);
    }
    if (pod.cpus_milli >= 0) row.cpus_milli = row.cpus_milli.value_or(0) + pod.cpus_milli;
    if (pod.memory) row.memory = row.memory.value_or(Bytes()) + *pod.memory;
    if (pod.exit_code >= 0 && pod.exit_code >= row.exit_code.value_or(0)) {
      row.exit_code = pod.exit_code;
      row.signal = pod.signal;
    }
    row.outcome = worse(row.outcome, outcome_of(pod));
    if (row.reason.empty()) row.reason = text(pod.reason);
    const auto event = events_.find(pod.name.index);
    if (row.reason.empty() && event != events_.end()) row.reason = text(event->second.waits_for);
  }

  /// Of two pods of one attempt the end that decides: whoever still runs, then the worst.
  static Outcome worse(Outcome a, Outcome b) {
    constexpr Outcome kOrder[] = {Outcome::kRunning,     Outcome::kPreempted, Outcome::kNodeFailed,
                                  Outcome::kOutOfMemory, Outcome::kFailed,    Outcome::kTimeLimit,
                                  Outcome::kRequeued,    Outcome::kCancelled, Outcome::kPending,
                                  Outcome::kCompleted};
    for (const Outcome outcome : kOrder) {
      if (a == outcome || b == outcome) return outcome;
    }
    return a;
  }

  void describe(JobRow& row, const PodFacts& first, std::size_t begin, bool is_last) {
    row.id = text(first.group);
    row.name = row.id.substr(row.id.find('/') + 1);
    row.user = text(first.user);
    row.queue = text(first.queue);
    row.pool = text(first.pool);
    row.job_class = text(first.job_class);
    row.priority = first.priority.optional();
    row.time_limit = first.time_limit.optional();
    const auto found = jobs_.find(first.group.index);
    if (found != jobs_.end()) {
      JobFacts& job = found->second.facts;
      job.has_pods = true;
      const bool is_first = begin == 0 || pods_[begin - 1].facts.group != first.group;
      if (is_first && job.created && job.created < Maybe<Instant>(row.submitted)) {
        row.submitted = *job.created;
      }
      row.queue = text(job.queue);
      if (job.time_limit) row.time_limit = *job.time_limit;
      if (!job.name.empty()) row.name = text(job.name);
      if (!job.job_class.empty()) row.job_class = text(job.job_class);
      const auto known = classes_.find(job.job_class.index);
      if (!job.job_class.empty() && known != classes_.end()) row.priority = known->second;
      if (!job.reason.empty() && row.outcome == Outcome::kPending) row.reason = text(job.reason);
      const bool decides = is_last && has_ended(job.outcome) &&
                           (!has_ended(row.outcome) || row.outcome == Outcome::kFailed ||
                            job.outcome == Outcome::kCompleted);
      if (decides) row.outcome = job.outcome;
    }
    if (row.time_limit) row.limit_kind = TimeLimit::kSet;
    if (!row.started) row.gpus_held = kGpusUnknown;
  }

  void add_jobs_without_pods() {
    std::vector<std::uint32_t> order;
    for (const auto& [index, job] : jobs_) {
      if (!job.facts.has_pods) order.push_back(index);
    }
    std::sort(order.begin(), order.end());
    for (const std::uint32_t index : order) {
      const auto& [job, item] = jobs_[index];
      JobRow row;
      row.id = text(Name{index});
      row.name = job.name.empty() ? row.id.substr(row.id.find('/') + 1) : text(job.name);
      row.queue = text(job.queue);
      row.job_class = text(job.job_class);
      row.submitted = job.created.optional();
      row.started = job.started.optional();
      row.ended = job.ended.optional();
      row.time_limit = job.time_limit.optional();
      if (row.time_limit) row.limit_kind = TimeLimit::kSet;
      row.gpus_wanted = job.gpus;
      row.outcome = job.outcome;
      if (!job.started && !job.is_group && job.outcome == Outcome::kUnknown) {
        row.outcome = Outcome::kPending;
      }
      if (job.started || job.is_group) {
        count(RowFate::kKept, "a job whose pods are gone; GPUs and times are those of its object",
              item, row.id);
      }
      builder_.add(row, place(item));
    }
  }

  HistoryBuilder& builder_;
  Name file_;
  std::vector<Held> pods_;
  std::unordered_map<std::uint32_t, Name> models_;        // by the node's name; lookup only
  std::unordered_map<std::uint32_t, Job> jobs_;           // by name; walked in sorted order
  std::unordered_map<std::uint32_t, EventFacts> events_;  // by the pod's name; lookup only
  std::unordered_map<std::uint32_t, BindFacts> binds_;    // by the pod's name; lookup only
  std::unordered_map<std::uint32_t, std::int64_t> classes_;  // priorities by name; lookup only
  bool restarted_ = false;
};

/// Lists of a snapshot by the kind of their objects, which the objects themselves leave out.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSnapshotLists{{
    {"pods", "Pod"},
    {"nodes", "Node"},
    {"podGroups", "PodGroup"},
    {"bindRequests", "BindRequest"},
    {"priorityClasses", "PriorityClass"}}};

std::string_view kind_of_list(std::string_view list) {
  for (const auto& [name, kind] : kSnapshotLists) {
    if (name == list) return kind;
  }
  return list;
}

DumpReader& reader_of(ImportRun& run) {
  if (!run.later) run.later = std::make_unique<DumpReader>(run.builder);
  return static_cast<DumpReader&>(*run.later);
}

}  // namespace

bool is_kubernetes(std::string_view sample) {
  return looks_like_json(sample) && !is_kai_snapshot(sample) &&
         has_json_key(sample, "apiVersion") &&
         (has_json_key(sample, "kind") || has_json_key(sample, "items")) &&
         has_json_key(sample, "metadata");
}

Status import_kubernetes(ImportRun& run) {
  DumpReader& reader = reader_of(run);
  reader.begin(run.text.name());
  return for_each_json_item(run.text, "items", [&](const Json& item, std::int64_t number) {
    reader.read(item, number);
  });
}

bool is_kai_snapshot(std::string_view sample) {
  return looks_like_json(sample) && has_json_key(sample, "rawObjects") &&
         (has_json_key(sample, "schedulerParams") || has_json_key(sample, "config"));
}

Status import_kai_snapshot(ImportRun& run) {
  DumpReader& reader = reader_of(run);
  return for_each_json_list(
      run.text, "rawObjects",
      [&](std::string_view list, const Json& item, std::int64_t number) {
        if (number == 1) reader.begin(run.text.name() + ": " + std::string(list));
        reader.read_as(kind_of_list(list), item, number);
      });
}

}  // namespace rota::history
