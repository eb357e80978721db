#include "tests/property/stage.h"

namespace rota::property {

namespace {

std::string name_of_thing(bool renamed, char normal, char other, std::size_t i) {
  if (!renamed) return normal + std::to_string(i);
  return std::string(1, other) + std::string(1, static_cast<char>('z' - static_cast<int>(i)));
}

NodeSpec node_from(std::uint32_t number, std::string name) {
  Digits digits(number);
  NodeSpec node;
  node.name = std::move(name);
  constexpr std::array<std::size_t, 6> kGpus{2, 4, 1, 8, 3, 0};
  node.devices.resize(kGpus[digits.below(6)]);
  const std::uint32_t kind = digits.below(8);
  if (kind == 6) node.slots = 4;
  if (kind == 7) node.mig = true;
  const std::uint32_t model = digits.below(5);
  for (DeviceSpec& device : node.devices) {
    device.model = node.mig ? "a100" : (model < 3 ? "" : (model == 3 ? "a100" : "h100"));
  }
  node.cpus = digits.below(2) == 0 ? 64 : 8;
  node.memory = gibibytes(512);
  const auto count = static_cast<int>(node.devices.size());
  if (count >= 4 && digits.below(3) == 2) {
    node.islands.resize(2);
    for (int i = 0; i < count; ++i) node.islands[i < count / 2 ? 0 : 1].push_back(i);
  }
  const std::uint32_t rack = digits.below(3);
  if (rack > 0) node.rack = "r" + std::to_string(rack);
  if (digits.below(2) == 1) node.cost = MicroMoney(2'500'000);
  return node;
}

Policy policy_from(Numbers& numbers) {
  Policy policy;
  constexpr std::array<Order, 6> kOrders{Order::kFair, Order::kFair,     Order::kFair,
                                         Order::kFair, Order::kPriority, Order::kFifo};
  policy.order = kOrders[numbers.below(6)];
  policy.fairness = static_cast<FairnessKind>(Digits(numbers.take()).below(3));
  policy.fairness_span = Duration::hours(1);
  policy.backfill = static_cast<Backfill>(numbers.below(4));
  constexpr std::array<Placement, 4> kPlacements{Placement::kPack, Placement::kPack,
                                                 Placement::kLeastFragmentation,
                                                 Placement::kSpread};
  policy.placement = kPlacements[numbers.below(4)];
  constexpr std::array<Reclaim, 4> kReclaim{Reclaim::kShare, Reclaim::kShare, Reclaim::kQuota,
                                            Reclaim::kOff};
  policy.reclaim = kReclaim[numbers.below(4)];
  policy.grace = Duration::seconds(numbers.below(2) * 30);
  Digits rest(numbers.take());
  policy.retries = rest.below(3);
  policy.retry_on = rest.below(2) == 0 ? RetryOn::kElsewhere : RetryOn::kAny;
  policy.quarantine_after = 3;
  if (rest.below(3) == 2) policy.quarantine_after.reset();
  policy.dependency_never = rest.below(2) == 0 ? DependencyNever::kCancel : DependencyNever::kHold;
  policy.cpus_reserved_per_gpu = rest.below(2) * 2;
  if (rest.below(2) == 1) policy.session_idle_end = Duration::minutes(20);
  if (rest.below(2) == 1) policy.session_idle_warn = Duration::minutes(10);
  if (rest.below(2) == 1) policy.consolidation = Consolidation::kDrainOne;
  return policy;
}

QueueSpec queue_from(std::uint32_t number, std::string name) {
  Digits digits(number);
  QueueSpec queue;
  queue.name = std::move(name);
  constexpr std::array<std::int64_t, 5> kWeights{1, 2, 3, 1, 0};
  queue.weight = kWeights[digits.below(5)];
  if (digits.rarely(3)) queue.quota = whole_gpus(1 + digits.below(4));
  if (digits.rarely(4)) queue.limit = whole_gpus(1 + digits.below(6));
  return queue;
}

}  // namespace

std::string Names::node(std::size_t i) const { return name_of_thing(renamed, 'n', 'w', i); }
std::string Names::queue(std::size_t i) const { return name_of_thing(renamed, 'q', 'k', i); }
std::string Names::user(std::size_t i) const { return name_of_thing(renamed, 'u', 'c', i); }

std::size_t Names::node_number(const std::string& name) const {
  if (!renamed) return std::stoul(name.substr(1));
  return static_cast<std::size_t>('z' - name[1]);
}

Stage stage_from(const Script& script, const Names& names) {
  Numbers numbers(script.stage.data(), script.stage.size());
  Stage stage;
  stage.policy = policy_from(numbers);
  const std::size_t nodes = 1 + numbers.below(4);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t number = numbers.take();
    if (i < nodes) stage.nodes.push_back(node_from(number, names.node(i)));
  }
  // Up to four queues; where there is a tree, 0 is the parent of 1 and 2.
  const std::size_t queues = 1 + numbers.below(4);
  const bool tree = queues >= 3 && numbers.below(3) == 2;
  for (std::size_t i = 0; i < queues; ++i) {
    stage.queues.push_back(queue_from(numbers.take(), names.queue(i)));
    if (tree && (i == 1 || i == 2)) stage.queues.back().parent = names.queue(0);
    if (!tree || i > 0) stage.leaves.push_back(i);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    UserSpec user{names.user(i), {}};
    Digits digits(numbers.take());
    if (digits.rarely(4)) user.limit = whole_gpus(1 + digits.below(5));
    stage.users.push_back(std::move(user));
  }
  stage.start_delay = Duration::seconds(numbers.below(3) == 2 ? 7 : 0);
  stage.stop_delay = Duration::seconds(numbers.below(3) == 2 ? 11 : 0);
  return stage;
}

}  // namespace rota::property
