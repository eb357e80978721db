// What a pod of a Kubernetes dump tells, in few bytes: pods are kept until the whole dump is read,
// since jobs, nodes and events that belong to them may stand before or behind.
#pragma once

#include <string>
#include <vector>

#include "history/history.h"
#include "history/json_items.h"

namespace rota::history {

struct PodFacts {
  Maybe<Instant> created;
  Maybe<Instant> bound;  // given to its node: from here on it holds its devices
  Maybe<Instant> ended;
  Maybe<Duration> time_limit;
  Maybe<Bytes> memory;
  Maybe<std::int64_t> priority;
  Name name;       // namespace/name
  Name group;      // namespace/name of what it belongs to; of a pod alone its own
  Name queue;
  Name user;
  Name pool;
  Name job_class;  // priority class
  Name node;
  Name model;      // asked for by a selector
  Name reason;
  GpuSetId gpus;   // asked for, of the model in `model` or of none
  std::int32_t cpus_milli = -1;
  std::int32_t exit_code = -1;
  std::int16_t signal = 0;
  Outcome outcome = Outcome::kUnknown;
  bool of_daemon = false;   // one of a DaemonSet, or a node's own
  bool for_others = false;  // KAI's: holds a whole device for the pods that share it
  bool restarted = false;   // containers ran more than once inside it
  bool served = false;      // a replica of a service
};

[[nodiscard]] PodFacts pod_facts(const Json& pod, NameTable& names, GpuSets& gpus);

/// `namespace/name` of an object.
[[nodiscard]] std::string object_name(const Json& object);
/// A time of the API; absent when there is none.
[[nodiscard]] Maybe<Instant> api_time(const Json& json, std::initializer_list<const char*> path);
/// The queue that labels or annotations name, else the namespace.
[[nodiscard]] std::string_view queue_of(const Json& object);
/// Devices that the containers of a pod's spec ask for, without a model. `annotations` may be null.
[[nodiscard]] std::vector<GpuItem> devices_of(const Json& spec, const Json* annotations,
                                              NameTable& names);
/// `500m`, `16Gi`, `2e3`-free quantities of the API in thousandths; absent when it is none.
[[nodiscard]] std::optional<std::int64_t> quantity_milli(const Json& value);

}  // namespace rota::history
