// Owners: what they hold and are owed, and how they are changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/marks.h"

namespace rota::api {

struct Queue {
  std::string name;
  std::string parent;
  std::int64_t weight = 1;
  std::optional<double> quota;
  std::optional<double> limit;
  std::int64_t running = 0;
  std::int64_t pending = 0;
  double gpus_used = 0;
  std::int64_t fair_share = 0;
  double usage_gpu_hours = 0;
  double gpu_hours = 0;
  double gpu_hours_lost = 0;
  double owed_gpu_hours = 0;
  double delivered_gpu_hours = 0;
  std::int64_t evictions = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "the owner");
    visit("parent", self.parent, "the queue above; absent: the root", kMayLack);
    visit("weight", self.weight, "part of the parent's GPU time");
    visit("quota", self.quota, "GPUs guaranteed now");
    visit("limit", self.limit, "hard cap in GPUs");
    visit("running", self.running, "jobs");
    visit("pending", self.pending, "jobs");
    visit("gpus_used", self.gpus_used, "held now");
    visit("fair_share", self.fair_share, "GPUs it may hold by weight and demand");
    visit("usage_gpu_hours", self.usage_gpu_hours, "what fairness counts now");
    visit("gpu_hours", self.gpu_hours, "held since the start");
    visit("gpu_hours_lost", self.gpu_hours_lost, "of these, lost");
    visit("owed_gpu_hours", self.owed_gpu_hours, "entitled to and demanded");
    visit("delivered_gpu_hours", self.delivered_gpu_hours, "of these, got");
    visit("evictions", self.evictions, "of its jobs");
  }
};

struct QueueList {
  std::vector<Queue> queues;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("queues", self.queues, "parents before their children");
  }
};

/// `rota queue set`: creates or changes; absent fields stay (new queues: weight 1).
struct QueueRequest {
  std::string name;
  std::optional<std::string> parent;
  std::optional<std::int64_t> weight;
  std::optional<double> quota;
  std::optional<double> limit;
  bool no_quota = false;
  bool no_limit = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "the owner");
    visit("parent", self.parent, "the queue above, for a new queue");
    visit("weight", self.weight, "part of the parent's GPU time; 0: only leftovers");
    visit("quota", self.quota, "GPUs guaranteed now");
    visit("limit", self.limit, "hard cap in GPUs");
    visit("no_quota", self.no_quota, "removes the quota");
    visit("no_limit", self.no_limit, "removes the limit");
  }
};

}  // namespace rota::api
