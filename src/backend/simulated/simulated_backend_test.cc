#include "backend/simulated/simulated_backend.h"

#include <gtest/gtest.h>

namespace rota::backend {
namespace {

NodeSpec node_of(const std::string& name, int devices) {
  NodeSpec node;
  node.name = name;
  node.devices.resize(static_cast<std::size_t>(devices));
  return node;
}

SimulatedOptions two_nodes(std::uint64_t seed = 1) {
  SimulatedOptions options;
  options.seed = seed;
  options.nodes = {node_of("n1", 2), node_of("n2", 2)};
  return options;
}

StartOrder order_of(std::uint64_t job, std::int64_t attempt, std::vector<TaskPlace> tasks) {
  StartOrder order;
  order.job = JobId(job);
  order.attempt = attempt;
  order.allocation.tasks = std::move(tasks);
  return order;
}

TaskPlace place_of(std::int64_t task, const std::string& node, std::int32_t device) {
  TaskPlace place;
  place.task = task;
  place.node = node;
  place.devices.push_back({.device = device, .gpus = kWholeGpu});
  return place;
}

constexpr Instant at(std::int64_t seconds) { return Instant() + Duration::seconds(seconds); }

template <class T>
std::vector<T> of_kind(const Facts& facts) {
  std::vector<T> result;
  for (const Event& fact : facts) {
    if (const T* found = std::get_if<T>(&fact)) result.push_back(*found);
  }
  return result;
}

TEST(SimulatedBackend, RunsAScriptUnderTheVirtualClock) {
  SimulatedBackend backend(two_nodes());
  backend.script(JobId(1), {{.runtime = Duration::seconds(3), .exit_code = 7}});
  ASSERT_TRUE(backend.start(order_of(1, 1, {place_of(0, "n1", 0)})).ok());
  EXPECT_TRUE(backend.poll().empty());
  backend.advance_to(at(1));
  EXPECT_EQ(of_kind<AttemptStarted>(backend.poll()).size(), 1U);
  ASSERT_TRUE(backend.next_event().has_value());
  EXPECT_EQ(*backend.next_event(), at(3) + Duration::milliseconds(5));
  backend.advance_to(at(4));
  const auto ends = of_kind<AttemptEnded>(backend.poll());
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_code, 7);
  EXPECT_TRUE(backend.violations().empty());
}

TEST(SimulatedBackend, ALostReplyMayOrMayNotHaveStarted) {
  SimulatedOptions options = two_nodes();
  options.faults.start_reply_lost = 1000;
  SimulatedBackend backend(options);
  std::int64_t begun = 0;
  for (std::uint64_t job = 1; job <= 64; ++job) {
    const Status status = backend.start(order_of(job, 1, {}));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kUnknownResult);
    begun += backend.launches(JobId(job), 1);
  }
  EXPECT_GT(begun, 8);
  EXPECT_LT(begun, 56);
  const auto known = backend.list();
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(static_cast<std::int64_t>(known->size()), begun);
}

TEST(SimulatedBackend, NoticesADeviceGivenTwice) {
  SimulatedBackend backend(two_nodes());
  ASSERT_TRUE(backend.start(order_of(1, 1, {place_of(0, "n1", 0)})).ok());
  ASSERT_TRUE(backend.start(order_of(2, 1, {place_of(0, "n1", 1)})).ok());
  EXPECT_TRUE(backend.violations().empty());
  ASSERT_TRUE(backend.start(order_of(3, 1, {place_of(0, "n1", 1)})).ok());
  ASSERT_EQ(backend.violations().size(), 1U);
  EXPECT_EQ(backend.violations()[0], "job 3 attempt 1 was given n1:1, which is in use");
}

TEST(SimulatedBackend, NoticesAnAttemptBegunAgainAfterItWasForgotten) {
  SimulatedBackend backend(two_nodes());
  ASSERT_TRUE(backend.start(order_of(1, 1, {})).ok());
  backend.advance_to(at(60));
  backend.forget(JobId(1), 1);
  ASSERT_TRUE(backend.start(order_of(1, 1, {})).ok());
  EXPECT_EQ(backend.violations().size(), 1U);
}

TEST(SimulatedBackend, ADeadNodeTakesItsGangs) {
  SimulatedBackend backend(two_nodes());
  ASSERT_TRUE(backend.start(order_of(1, 1, {place_of(0, "n1", 0), place_of(1, "n2", 0)})).ok());
  ASSERT_TRUE(backend.start(order_of(2, 1, {place_of(0, "n1", 1)})).ok());
  backend.advance_to(at(1));
  backend.poll();
  backend.fail_node("n2");
  const Facts facts = backend.poll();
  EXPECT_EQ(of_kind<NodeCommanded>(facts).size(), 1U);
  const auto ends = of_kind<AttemptEnded>(facts);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].job, JobId(1));
  EXPECT_EQ(ends[0].kind, EndKind::kLost);
  EXPECT_EQ(ends[0].node, "n2");
  ASSERT_TRUE(backend.start(order_of(3, 1, {place_of(0, "n2", 0)})).ok());
  backend.advance_to(at(2));
  const auto failed = of_kind<AttemptEnded>(backend.poll());
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].kind, EndKind::kLaunchFailed);
}

TEST(SimulatedBackend, FactsLostInACrashAreStillInTheList) {
  SimulatedBackend backend(two_nodes());
  ASSERT_TRUE(backend.start(order_of(1, 1, {})).ok());
  backend.advance_to(at(60));
  backend.lose_facts();
  EXPECT_TRUE(backend.poll().empty());
  const auto known = backend.list();
  ASSERT_EQ(known->size(), 1U);
  EXPECT_FALSE((*known)[0].alive);
  EXPECT_EQ((*known)[0].end.kind, EndKind::kExited);
}

std::string trace_of(std::uint64_t seed) {
  SimulatedOptions options = two_nodes(seed);
  options.faults = {.start_reply_lost = 200, .fact_duplicated = 300, .fact_late = 300};
  SimulatedBackend backend(options);
  std::string trace;
  for (std::uint64_t job = 1; job <= 40; ++job) {
    trace += backend.start(order_of(job, 1, {})).ok() ? "o" : "x";
    backend.advance_to(at(static_cast<std::int64_t>(job) * 2));
    for (const Event& fact : backend.poll()) trace += kEventNames[fact.index()][8];
  }
  return trace;
}

TEST(SimulatedBackend, TheSameSeedGivesTheSameFacts) {
  EXPECT_EQ(trace_of(5), trace_of(5));
  EXPECT_NE(trace_of(5), trace_of(6));
}

}  // namespace
}  // namespace rota::backend
