// Who holds GPUs and until when, gathered once for all explanations of one state: verdicts ask it
// many times, and nothing changes between them.
//
// Cost: gathering O(active jobs * log), each later question O(groups) or better.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/state.h"

namespace rota::engine {

/// Active jobs that the rules of preemption treat alike: of one queue, priority and charge.
struct HolderGroup {
  JobId any;                  // one of them
  bool is_protected = false;  // a contract still runs, or the job may never be taken
  std::vector<Instant> ends;  // of contracts that still run, each once, in order
};

/// What waiting jobs of one queue, user, array, priority and shape may hope for.
struct Prospect {
  std::optional<std::int64_t> freeable;                // milli-GPU that could be taken now
  std::optional<std::optional<Instant>> contract_end;  // the first at which a claim goes through
};

struct Holders {
  using GroupKey = std::tuple<QueueIndex, bool, std::int64_t>;  // queue, charged, priority
  using ProspectKey = std::tuple<QueueIndex, UserIndex, GroupId, std::int64_t, ShapeIndex>;
  std::map<GroupKey, HolderGroup> groups;
  std::vector<std::pair<Instant, JobId>> leaving;  // those who will leave by themselves, in order
  std::map<ProspectKey, Prospect> prospects;
};

}  // namespace rota::engine
