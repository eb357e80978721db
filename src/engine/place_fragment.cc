// least_fragmentation: the node and device after whose use the free devices stay most useful.
#include "engine/place.h"

namespace rota::engine {

namespace {

/// Orders choices: tasks without GPUs beside GPUs last, then by score, then packing: a part on the
/// fullest device (`room` left on it, else 0), on the node with the least free; by index where all
/// are equal.
std::uint64_t liking_key(bool beside_gpus, std::int64_t score, std::int32_t room,
                         const NodeCap& node) {
  constexpr int kScoreBits = 17;
  constexpr int kRoomBits = 10;
  static_assert(Fragmentation::kScoreMax - Fragmentation::kScoreMin < (1 << kScoreBits));
  static_assert(1 + kScoreBits + kRoomBits + PlaceKey::kMilliBits < 64);
  std::uint64_t key = beside_gpus ? 1 : 0;
  key = (key << kScoreBits) | static_cast<std::uint64_t>(Fragmentation::kScoreMax - score);
  key = (key << kRoomBits) | static_cast<std::uint64_t>(room);
  return (key << PlaceKey::kMilliBits) | static_cast<std::uint64_t>(node.free.milli);
}

PickRules rules_of(std::int32_t model, const Domain* domain) {
  PickRules rules;
  rules.model = model;
  if (domain != nullptr && !domain->devices.empty()) rules.devices = &domain->devices;
  return rules;
}

bool is_part(const Request& request) {
  return request.kind == NeedKind::kFraction || request.kind == NeedKind::kMig;
}

Fragmentation::Host host_of(const Request& request) {
  return {request.shape.task.cpus, request.shape.models.size()};
}

}  // namespace

/// Of a task that is no part of a device; none: it does not fit.
std::optional<std::int64_t> Placer::score_of(const Ledger& ledger, const Try& attempt,
                                             NodeIndex n) const {
  const Request& request = attempt.request;
  const NodeCap& node = ledger.node(n);
  const bool whole = request.kind == NeedKind::kWhole;
  if (whole && node.free.whole < request.whole) return std::nullopt;
  const bool any_device = attempt.domain == nullptr || attempt.domain->devices.empty();
  const bool easy = request.kind == NeedKind::kNoDevice ||
                    (whole && any_device && !request.shape.task.gpu_memory);
  const auto prospect = easy ? fragmentation_.prospect(node, host_of(request)) : std::nullopt;
  if (prospect) {
    if (!whole) return prospect->no_device();
    const std::int32_t model = node.devices.front().model;
    if (attempt.model != kNone && attempt.model != model) return std::nullopt;
    return prospect->whole(request.whole);
  }
  const auto task = fit_on_node(ledger, request, n, attempt.model, attempt.domain);
  if (!task) return std::nullopt;
  return fragmentation_.score(node, *task, request.shape.models.size());
}

Placer::Liking Placer::liking_of_part(const NodeCap& node, const Try& attempt,
                                      NodeIndex n) const {
  const Request& request = attempt.request;
  const TaskShape& task = request.shape.task;
  const PickRules rules = rules_of(attempt.model, attempt.domain);
  std::optional<Fragmentation::Prospect> prospect;
  Liking best;
  for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) {
    const DeviceCap& device = node.devices[d];
    // Like the one before it: no better.
    if (d > 0 && rules.devices == nullptr && device == node.devices[d - 1]) continue;
    const auto share = fit_part(device, d, request, rules, state_.nodes[n].spec.devices[d].model);
    if (!share) continue;
    if (!prospect) prospect = fragmentation_.prospect(node, host_of(request));
    const std::int64_t score =
        prospect ? prospect->part(device, static_cast<std::int32_t>(share->gpus.value()))
                 : fragmentation_.score(node, {n, 0, {*share}, task.cpus, task.memory.value()},
                                        request.shape.models.size());
    const std::uint64_t key = liking_key(false, score, room_on(device), node);
    if (key < best.key) best = {key, d};
  }
  return best;
}

Placer::Liking Placer::liking(const Ledger& ledger, const Try& attempt, NodeIndex n) const {
  const NodeCap& node = ledger.node(n);
  if (!node.open || !host_fits(node, attempt.request)) return {};
  if (is_part(attempt.request)) return liking_of_part(node, attempt, n);
  const auto score = score_of(ledger, attempt, n);
  if (!score) return {};
  const bool beside_gpus =
      attempt.request.kind == NeedKind::kNoDevice && !node.devices.empty();
  return {liking_key(beside_gpus, *score, 0, node), kNone};
}

NodeIndex Placer::least_fragmenting_node(const Ledger& ledger, const Try& attempt) const {
  const JobShape& shape = attempt.request.shape;
  if (attempt.domain == nullptr) {
    const BoardKey key{shape.task, attempt.model, std::min<std::size_t>(shape.models.size(), 2),
                       shape.any_model};
    const ScoreBoard* board =
        boards_.board(ledger, fragmentation_.version(), key,
                      [&](NodeIndex n) { return liking(ledger, attempt, n).key; });
    if (board != nullptr) {
      return board->best([&](NodeIndex n) {
        return attempt.nodes().contains(n) && node_open(ledger, attempt, n);
      });
    }
  }
  NodeIndex best = NodeSet::kEnd;
  std::uint64_t best_key = ScoreBoard::kNever;
  for_each_node(attempt, [&](NodeIndex n) {
    if (!node_open(ledger, attempt, n)) return;
    const std::uint64_t key = liking(ledger, attempt, n).key;
    if (key >= best_key) return;
    best_key = key;
    best = n;
  });
  return best;
}

/// Inside a node whole devices are packed; a part goes to the best device.
std::optional<TaskAlloc> Placer::place_least_fragmenting(const Ledger& ledger,
                                                         const Try& attempt) const {
  fragmentation_.update(state_.mix.used, state_.mix.version, topology_, ledger);
  const NodeIndex n = least_fragmenting_node(ledger, attempt);
  if (n == NodeSet::kEnd) return std::nullopt;
  const Request& request = attempt.request;
  if (!is_part(request)) {
    return fit_on_node(ledger, request, n, attempt.model, attempt.domain);
  }
  const TaskShape& task = request.shape.task;
  const std::int32_t device = liking(ledger, attempt, n).device;
  const auto share = fit_part(ledger.node(n).devices[device], device, request,
                              rules_of(attempt.model, attempt.domain),
                              state_.nodes[n].spec.devices[device].model);
  return TaskAlloc{n, 0, {*share}, task.cpus, task.memory.value()};
}

}  // namespace rota::engine
