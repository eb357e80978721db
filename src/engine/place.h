// Placement: filter, score, choose. Finds devices for a job's tasks on a ledger (the present or
// a hypothetical future) without changing it.
//
// Order of trying: sites (home, then by cost under spill), models in order of preference, the
// preferred level, then the required one. Within a domain tasks go one by one to the node the
// policy likes best; ties: fewest free GPUs of the node, then declared first.
// Cost: nodes are looked at in the order of the ledger's index, so that usually the first one holds
// a task; O(nodes looked at) where CPUs, memory or devices rule them out. Domains of several nodes
// are chosen by their sums, those of less than a node in O(nodes). least_fragmentation keeps the
// scores of all nodes: O(nodes changed since the same task was placed last + nodes / 64), and
// O(nodes) when the mix it goes by has changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/fragment_boards.h"
#include "engine/fragmentation.h"
#include "engine/pick.h"
#include "engine/request.h"

namespace rota::engine {

/// Nodes that a caller will not have, by index (not owned, may be null).
using NodeFlags = std::vector<std::uint8_t>;

class Placer {
 public:
  Placer(const State& state, const Topology& topology) : state_(state), topology_(topology) {}

  /// A place for exactly `tasks` tasks; none when they do not fit. The ledger is used for trying
  /// and left as it was.
  [[nodiscard]] std::optional<Tasks> place(Ledger& ledger, const Request& request,
                                           std::int64_t tasks) const;
  /// As many as fit, up to `most`, at least `least`; none when fewer fit.
  [[nodiscard]] std::optional<Tasks> place_most(Ledger& ledger, const Request& request,
                                                std::int64_t least, std::int64_t most) const;
  /// One more task for a job that already runs with `present` tasks (same site, model and domain).
  [[nodiscard]] std::optional<TaskAlloc> place_one_more(Ledger& ledger, const Request& request,
                                                        const Tasks& present,
                                                        const NodeFlags& barred) const;
  /// The most tasks, up to `most`, that fit in one choice of site, model and required domain.
  [[nodiscard]] std::int64_t count_tasks(Ledger& ledger, const Request& request, std::int64_t most,
                                         std::int32_t model, const Domain* domain) const;
  /// The task's devices on this node; none when it does not fit.
  [[nodiscard]] std::optional<TaskAlloc> fit_on_node(const Ledger& ledger, const Request& request,
                                                     NodeIndex node, std::int32_t model,
                                                     const Domain* domain) const;

 private:
  struct Try {
    const Request& request;
    std::int64_t least = 0;
    std::int64_t most = 0;
    std::int32_t site = kNone;
    std::int32_t model = kNone;
    const Domain* domain = nullptr;
    const NodeFlags* barred = nullptr;
    const NodeSet* among = nullptr;   // null: all nodes of the request
    [[nodiscard]] const NodeSet& nodes() const {
      return among == nullptr ? request.node_set : *among;
    }
  };
  /// A part of a device that would do, and its place in the order of choice.
  struct Part {
    std::uint64_t key = 0;
    NodeIndex node = kNone;
    DeviceShare share;
  };
  [[nodiscard]] std::optional<Tasks> place_in_levels(Ledger& ledger, Try attempt) const;
  [[nodiscard]] std::optional<Tasks> place_in_best_domain(Ledger& ledger, Try attempt,
                                                          TopologyLevel level) const;
  [[nodiscard]] Tasks place_greedily(Ledger& ledger, const Try& attempt) const;
  [[nodiscard]] Tasks place_node_by_node(Ledger& ledger, const Try& attempt) const;
  [[nodiscard]] std::optional<TaskAlloc> place_task(const Ledger& ledger,
                                                    const Try& attempt) const;
  [[nodiscard]] std::optional<TaskAlloc> place_on_device(const Ledger& ledger,
                                                         const Try& attempt) const;
  [[nodiscard]] std::optional<Part> first_shared(const Ledger& ledger, const Try& attempt) const;
  [[nodiscard]] std::optional<Part> first_empty(const Ledger& ledger, const Try& attempt) const;
  [[nodiscard]] std::optional<Part> first_in_domain(const Ledger& ledger,
                                                    const Try& attempt) const;
  [[nodiscard]] std::optional<DeviceShare> fit_device(const Ledger& ledger, const Try& attempt,
                                                      NodeIndex node, std::int32_t device) const;
  [[nodiscard]] std::vector<DeviceShare> pick_one_model(const NodeCap& node,
                                                        const Request& request, PickRules rules,
                                                        NodeIndex n) const;
  /// Calls `visit` for every node of the attempt where one task could run at all.
  template <class Visit>
  void for_each_node(const Try& attempt, Visit&& visit) const {
    const NodeSet& nodes = attempt.nodes();
    if (attempt.domain == nullptr) {
      for (NodeIndex n = nodes.next(0); n != NodeSet::kEnd; n = nodes.next(n + 1)) visit(n);
      return;
    }
    for (const NodeIndex n : attempt.domain->nodes) {
      if (nodes.contains(n)) visit(n);
    }
  }
  /// Calls `visit` for the open nodes that may hold a task, in the order in which the policy likes
  /// them, until it returns true. Packing, it may take from the node it is called for.
  template <class Visit>
  void for_each_by_free(const Ledger& ledger, const Try& attempt, Visit&& visit) const;
  template <class Visit>
  void for_each_in_domain(const Ledger& ledger, const Try& attempt, Visit&& visit) const;
  [[nodiscard]] std::optional<Tasks> place_on_best_node(Ledger& ledger, Try attempt) const;
  [[nodiscard]] bool may_hold(const Ledger& ledger, const Try& attempt) const;
  [[nodiscard]] bool node_open(const Ledger& ledger, const Try& attempt, NodeIndex node) const;
  [[nodiscard]] std::optional<TaskAlloc> place_least_fragmenting(const Ledger& ledger,
                                                                 const Try& attempt) const;
  /// How much a task likes a node under the mix, less is better, and the device it would take there
  /// (kNone: none in particular).
  struct Liking {
    std::uint64_t key = ScoreBoard::kNever;
    std::int32_t device = kNone;
  };
  [[nodiscard]] Liking liking(const Ledger& ledger, const Try& attempt, NodeIndex node) const;
  [[nodiscard]] Liking liking_of_part(const NodeCap& node, const Try& attempt, NodeIndex n) const;
  [[nodiscard]] std::optional<std::int64_t> score_of(const Ledger& ledger, const Try& attempt,
                                                     NodeIndex n) const;
  [[nodiscard]] NodeIndex least_fragmenting_node(const Ledger& ledger, const Try& attempt) const;
  [[nodiscard]] bool by_fragmentation() const {
    return state_.policy.placement == Placement::kLeastFragmentation;
  }
  [[nodiscard]] bool spread() const { return state_.policy.placement == Placement::kSpread; }
  [[nodiscard]] FreeOrder order() const {
    return spread() ? FreeOrder::kMostFirst : FreeOrder::kLeastFirst;
  }

  const State& state_;
  const Topology& topology_;
  mutable Fragmentation fragmentation_;  // a cache of the mix
  mutable FragmentBoards boards_;        // a cache of its scores
};

}  // namespace rota::engine
