#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rota::sim {
namespace {

using testing::ElementsAre;

std::vector<std::string> errors_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto& error : parse_scenario(text, "f").errors) lines.push_back(error.text());
  return lines;
}

Scenario good(std::string_view text) {
  auto parsed = parse_scenario(text, "f");
  for (const auto& error : parsed.errors) ADD_FAILURE() << error.text();
  return std::move(parsed.scenario);
}

/// The errors of a block's line 3, after a stage of one node.
std::vector<std::string> block_errors(const std::string& line) {
  return errors_of("node n[1-2] gpus=4\nat 0s\n" + line + "\n");
}

TEST(Prose, IsTheLeadingCommentBlock) {
  const auto scenario = good("# One.\n#  Two.\n#\n# Three.\nnode n1 # rest\n# not prose\n");
  EXPECT_EQ(scenario.prose, "One.\n Two.\n\nThree.");
}

TEST(Node, ReadsEveryKey) {
  const auto scenario = good(
      "node n[1-2] gpus=a100:2,t4:1 gpu_memory=40GiB cpus=16 memory=64GiB islands=0-1/2 "
      "sockets=0/1,2 pool=p site=s block=b rack=r cost=2.5 label.zone=x state=future "
      "fails_after=5s\n");
  ASSERT_EQ(scenario.stage.size(), 1U);
  const auto& nodes = std::get<NodeStatement>(scenario.stage[0].body).nodes;
  ASSERT_EQ(nodes.size(), 2U);
  const NodeSpec& node = nodes[1];
  EXPECT_EQ(node.name, "n2");
  ASSERT_EQ(node.devices.size(), 3U);
  EXPECT_EQ(node.devices[1].model, "a100");
  EXPECT_EQ(node.devices[2].model, "t4");
  EXPECT_EQ(node.devices[2].memory, gibibytes(40));
  EXPECT_EQ(node.cpus, 16);
  EXPECT_EQ(node.memory, gibibytes(64));
  EXPECT_THAT(node.islands, ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_THAT(node.sockets, ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_EQ(node.pool + node.site + node.block + node.rack, "psbr");
  EXPECT_EQ(node.cost.value(), 2'500'000);
  EXPECT_EQ(node.labels.at("zone"), "x");
  EXPECT_EQ(node.state, NodeState::kFuture);
  EXPECT_EQ(scenario.fails_after.at("n1"), Duration::seconds(5));
}

TEST(Node, HasNoGpusUnlessSaid) {
  const auto scenario = good("node c1\n");
  const auto& node = std::get<NodeStatement>(scenario.stage[0].body).nodes[0];
  EXPECT_TRUE(node.devices.empty());
  EXPECT_EQ(node.cpus, 64);
  EXPECT_EQ(node.memory, gibibytes(512));
}

TEST(Node, RefusesWhatDoesNotFit) {
  EXPECT_THAT(errors_of("node n1 gpus=4 islands=0-4\n"),
              ElementsAre("f:1:24: islands: GPU 4 does not exist; the node has 4, counted from 0"));
  EXPECT_THAT(errors_of("node n1 gpus=4 islands=0-2/2-3\n"),
              ElementsAre("f:1:24: islands: GPU 2 is in two places"));
  EXPECT_THAT(errors_of("node n1 gpus=4 slots=2 mig=on\n"),
              ElementsAre("f:1:22: slots: a device is shared in one way at a time; mig=on and "
                          "slots exclude each other"));
  EXPECT_THAT(errors_of("node n1\nnode n[1-3]\n"),
              ElementsAre("f:2:6: node 'n1' is declared twice"));
  EXPECT_THAT(errors_of("node n1 gpus=x:\n"),
              ElementsAre("f:1:14: gpus: 'x:' is not a number of GPUs: expected a whole number up "
                          "to 1024, or MODEL:NUMBER like a100:4,t4:2"));
  EXPECT_THAT(errors_of("node n1 state=gone\n"),
              ElementsAre("f:1:15: unknown value of 'state' 'gone': expected one of up, drained, "
                          "down, future"));
}

TEST(Words, UnknownOnesNameTheNearest) {
  EXPECT_THAT(errors_of("nodes n1\n"),
              ElementsAre("f:1:1: unknown verb 'nodes'; did you mean 'node'?"));
  EXPECT_THAT(errors_of("node n1 gpu=4\n"),
              ElementsAre("f:1:9: unknown key of 'node' 'gpu'; did you mean 'gpus'?"));
  EXPECT_THAT(block_errors("sumbit J"),
              ElementsAre("f:3:1: unknown verb 'sumbit'; did you mean 'submit'?"));
  EXPECT_THAT(block_errors("drain m1"),
              ElementsAre("f:3:7: unknown node 'm1'; did you mean 'n1'?"));
  EXPECT_THAT(block_errors("submit J queue=x"),
              ElementsAre("f:3:16: unknown queue 'x': none is declared, so there is only "
                          "'default'"));
}

TEST(Lines, AreSplitAtSpacesOutsideQuotes) {
  const auto scenario = good("node n1 gpus=1\nat 0s\nsubmit J label.note=\"two words # one\"\n"
                             "expect J explain~\"nothing free\"\n");
  EXPECT_EQ(scenario.templates[0].spec.shape.labels.at("note"), "two words # one");
  const auto& expect = std::get<ExpectStatement>(scenario.blocks[0].statements[1].body);
  EXPECT_EQ(expect.expectation.checks[0].value, "nothing free");
}

TEST(Lines, RefuseWhatCannotBeRead) {
  EXPECT_THAT(errors_of("node n1 label.x=\"open\nnode n2\n"),
              ElementsAre("f:1:17: a quote is opened and not closed on this line"));
  EXPECT_THAT(errors_of("node n1 gpus=1 here\n"),
              ElementsAre("f:1:16: expected key=value, found 'here'; values with spaces stand in "
                          "double quotes"));
  EXPECT_THAT(errors_of("node n1 gpus=\n"), ElementsAre("f:1:9: key 'gpus' has no value"));
  EXPECT_THAT(errors_of("node n1 =4\n"),
              ElementsAre("f:1:9: a key is missing before the operator"));
  EXPECT_THAT(errors_of("node n1 gpus<4\n"),
              ElementsAre("f:1:13: unknown operator '<': expected one of =, !=, <=, >=, ~"));
  EXPECT_THAT(errors_of("node n1 gpus<=4\n"),
              ElementsAre("f:1:9: expected gpus=value; '<=' belongs to 'expect'"));
  EXPECT_THAT(errors_of("node n1 gpus=4 gpus=8\n"),
              ElementsAre("f:1:16: key 'gpus' is given twice"));
  EXPECT_THAT(errors_of("node n1 n2 gpus=4\n"),
              ElementsAre("f:1:9: expected key=value, found 'n2'; names stand in one word, like "
                          "a,b or n[1-4]"));
  EXPECT_THAT(errors_of("node\n"), ElementsAre("f:1:5: expected the name of a node after 'node'"));
  EXPECT_THAT(errors_of(""), ElementsAre("f:1:1: the file has no statement: expected a node and an "
                                         "'at' block"));
}

TEST(Order, IsTheStageThenBlocksInTimeOrder) {
  EXPECT_THAT(errors_of("at 0s\nnode n1\n"),
              ElementsAre("f:2:1: 'node' belongs to the stage: it stands before the first 'at'"));
  EXPECT_THAT(errors_of("node n1\nsubmit J\n"),
              ElementsAre("f:2:1: 'submit' belongs to a block: expected 'at INSTANT' before it"));
  EXPECT_THAT(errors_of("node n1\nat 2m\nat 1m\n"),
              ElementsAre("f:3:4: at: blocks stand in time order, each instant once: expected an "
                          "instant after 2m"));
  EXPECT_THAT(errors_of("node n1\nat 2m\nat 120s\n"),
              ElementsAre("f:3:4: at: blocks stand in time order, each instant once: expected an "
                          "instant after 2m"));
  EXPECT_THAT(errors_of("node n1\nat -1m\n"),
              ElementsAre("f:2:4: at: expected an instant from 0s to 36500d"));
  EXPECT_THAT(errors_of("node n1\nat 0s\nsubmit A\nexpect A state=running\nsubmit B\n"),
              ElementsAre("f:5:1: in a block first what happens, then what must be true: 'submit' "
                          "stands before every 'expect'"));
  EXPECT_THAT(errors_of("node n1\nat 5\nsubmit A\n"),
              ElementsAre("f:2:4: at: '5' is not a duration: expected a number with a unit of d, "
                          "h, m, s, ms, largest first, like 90s, 20m or 1h30m"));
}

TEST(Queues, FormATreeOfShares) {
  const auto scenario = good(
      "queue a share=40% quota=2 limit=8\nqueue b share=60%\nqueue c parent=b weight=0\n"
      "at 0s\nsubmit J queue=c\n");
  const auto& a = std::get<QueueStatement>(scenario.stage[0].body).queue;
  EXPECT_EQ(a.weight, 40);
  EXPECT_EQ(a.quota, whole_gpus(2));
  EXPECT_EQ(a.limit, whole_gpus(8));
  EXPECT_EQ(std::get<QueueStatement>(scenario.stage[2].body).queue.parent, "b");
  EXPECT_EQ(scenario.templates[0].spec.queue, "c");
}

TEST(Queues, RefuseWhatBreaksTheTree) {
  EXPECT_THAT(errors_of("queue a share=60%\nqueue b share=50%\n"),
              ElementsAre("f:2:15: share: the shares of siblings may not pass 100%; with this one "
                          "they are 110%"));
  EXPECT_THAT(errors_of("queue a parent=b\n"),
              ElementsAre("f:1:16: unknown queue 'b': none is declared"));
  EXPECT_THAT(errors_of("queue a\nqueue a\n"),
              ElementsAre("f:2:7: queue 'a' is declared twice"));
  EXPECT_THAT(errors_of("queue a\nqueue b parent=a\nat 0s\nsubmit J queue=a\n"),
              ElementsAre("f:4:16: queue 'a' has queues below it; jobs belong to queues without "
                          "children"));
  EXPECT_THAT(errors_of("queue a\nat 0s\nsubmit J\n"),
              ElementsAre("f:3:1: expected queue=NAME: with queues declared there is no "
                          "'default'"));
  EXPECT_THAT(errors_of("queue a weight=1 share=5%\n"),
              ElementsAre("f:1:18: weight and share exclude each other"));
  EXPECT_THAT(errors_of("queue a share=5\n"),
              ElementsAre("f:1:15: share: '5' is not a share: expected a whole percentage like "
                          "35%"));
}

TEST(Policy, ReadsEveryKey) {
  const auto policy =
      good("policy order=fifo fairness=half_life:7d backfill=conservative placement=spread "
           "reclaim=quota min_runtime_max=4h grace=30s retries=2 retry_on=any\n"
           "policy quarantine_after=off cpus_reserved_per_gpu=6 infeasible=refuse "
           "dependency_never=hold session_idle_warn=15m session_idle_end=60m spill=cheapest\n")
          .policy;
  EXPECT_EQ(policy.order, Order::kFifo);
  EXPECT_EQ(policy.fairness, FairnessKind::kHalfLife);
  EXPECT_EQ(policy.fairness_span, Duration::days(7));
  EXPECT_EQ(policy.backfill, Backfill::kConservative);
  EXPECT_EQ(policy.placement, Placement::kSpread);
  EXPECT_EQ(policy.reclaim, Reclaim::kQuota);
  EXPECT_EQ(policy.min_runtime_max, Duration::hours(4));
  EXPECT_EQ(policy.grace, Duration::seconds(30));
  EXPECT_EQ(policy.retries, 2);
  EXPECT_EQ(policy.retry_on, RetryOn::kAny);
  EXPECT_EQ(policy.quarantine_after, std::nullopt);
  EXPECT_EQ(policy.cpus_reserved_per_gpu, 6);
  EXPECT_EQ(policy.infeasible, Infeasible::kRefuse);
  EXPECT_EQ(policy.dependency_never, DependencyNever::kHold);
  EXPECT_EQ(policy.session_idle_warn, Duration::minutes(15));
  EXPECT_EQ(policy.session_idle_end, Duration::minutes(60));
  EXPECT_EQ(policy.spill, Spill::kCheapest);
}

TEST(Policy, RefusesUnknownValuesAndRepeats) {
  EXPECT_THAT(errors_of("policy backfill=eazy\n"),
              ElementsAre("f:1:17: unknown value of 'backfill' 'eazy'; did you mean 'easy'?"));
  EXPECT_THAT(errors_of("policy order=shortest\n"),
              ElementsAre("f:1:14: unknown value of 'order' 'shortest': expected one of fair, "
                          "priority, fifo"));
  EXPECT_THAT(errors_of("policy grace=1s\npolicy grace=2s\n"),
              ElementsAre("f:2:8: policy 'grace' is set twice"));
  EXPECT_THAT(errors_of("policy fairness=window\n"),
              ElementsAre("f:1:17: unknown value of 'fairness' 'window': expected one of instant, "
                          "window:7d, half_life:7d"));
  EXPECT_THAT(errors_of("policy fairness=window:0s\n"),
              ElementsAre("f:1:17: fairness: '0s' is not a duration above 0s"));
}

TEST(Jobs, ReadEveryKey) {
  const auto scenario = good(
      "node n[1-2] gpus=h100:8 pool=p site=s\nqueue q\n"
      "at 1m\nsubmit A,B queue=q\n"
      "submit J queue=q user=u priority=-3 gpus=2 tasks=4 min_tasks=2 model=h100|a100 "
      "gpu_memory=70GiB cpus=4 memory=8GiB same=island prefer=rack on=n1,p exclude=n2 time=1h "
      "runs=20m min_runtime=2h charge=no checkpoint=10m deadline=3h begin=2h after=A afterok=B "
      "afterany=A,B site=s data=s label.a=b\n");
  ASSERT_EQ(scenario.jobs.size(), 3U);
  const JobSpec spec = scenario.spec_of(2);
  EXPECT_EQ(spec.queue, "q");
  EXPECT_EQ(spec.user, "u");
  EXPECT_EQ(spec.priority, -3);
  EXPECT_EQ(spec.shape.task.gpus, whole_gpus(2));
  EXPECT_EQ(spec.shape.tasks, 4);
  EXPECT_EQ(spec.shape.min_tasks, 2);
  EXPECT_THAT(spec.shape.models, ElementsAre("h100", "a100"));
  EXPECT_EQ(spec.shape.task.gpu_memory, gibibytes(70));
  EXPECT_EQ(spec.shape.task.cpus, 4);
  EXPECT_EQ(spec.shape.task.memory, gibibytes(8));
  EXPECT_EQ(spec.shape.same, TopologyLevel::kIsland);
  EXPECT_EQ(spec.shape.prefer, TopologyLevel::kRack);
  EXPECT_THAT(spec.shape.on, ElementsAre("n1", "p"));
  EXPECT_THAT(spec.shape.exclude, ElementsAre("n2"));
  EXPECT_EQ(spec.time_limit, Duration::hours(1));
  EXPECT_EQ(scenario.templates.back().runs, Duration::minutes(20));
  EXPECT_EQ(spec.min_runtime, Duration::hours(2));
  EXPECT_FALSE(spec.charge);
  EXPECT_EQ(spec.checkpoint, Duration::minutes(10));
  EXPECT_EQ(spec.deadline, Instant(Duration::hours(3).ns()));
  EXPECT_EQ(spec.begin, Instant(Duration::hours(2).ns()));
  ASSERT_EQ(spec.dependencies.size(), 4U);
  EXPECT_EQ(spec.dependencies[1].kind, DependencyKind::kAfterOk);
  EXPECT_EQ(spec.dependencies[1].job, JobId(2));
  EXPECT_EQ(spec.shape.site + spec.shape.data, "ss");
  EXPECT_EQ(spec.shape.labels.at("a"), "b");
}

TEST(Jobs, DefaultsAreThoseOfAScenario) {
  const auto scenario = good("node n1\nat 0s\nsubmit J time=5m\n");
  const JobSpec spec = scenario.spec_of(0);
  EXPECT_EQ(spec.queue, "default");
  EXPECT_EQ(spec.shape.task.gpus, kWholeGpu);
  EXPECT_EQ(spec.shape.tasks, 1);
  EXPECT_EQ(spec.min_runtime, std::nullopt);
  EXPECT_TRUE(spec.charge);
  EXPECT_EQ(scenario.templates[0].runs, Duration::minutes(5)) << "runs is time when absent";
}

TEST(Jobs, RefuseWhatDoesNotFitTogether) {
  EXPECT_THAT(block_errors("submit J gpus=1 slots=2"),
              ElementsAre("f:3:17: a task takes whole or part GPUs, time slices or a MIG instance: "
                          "'gpus' and 'slots' exclude each other"));
  EXPECT_THAT(block_errors("submit J gpus=1.5"),
              ElementsAre("f:3:15: gpus: a task takes whole GPUs or a part of one: expected a "
                          "whole number or a decimal below 1"));
  EXPECT_THAT(block_errors("submit J gpus=0.1234"),
              ElementsAre("f:3:15: gpus: '0.1234' is not a number of GPUs: expected a whole "
                          "number, or a decimal with at most three digits after the point, like 2 "
                          "or 0.5"));
  EXPECT_THAT(block_errors("submit J mig=5gb"),
              ElementsAre("f:3:14: mig: '5gb' is not a MIG profile: expected 1g, 2g, 3g, 4g or 7g "
                          "with its memory, like 1g.10gb"));
  EXPECT_THAT(block_errors("submit J tasks=2 min_tasks=3"),
              ElementsAre("f:3:28: min_tasks: 3 is more than tasks=2"));
  EXPECT_THAT(block_errors("submit J slots=1 distinct_devices=2"),
              ElementsAre("f:3:35: distinct_devices: 2 devices need at least as many time slices; "
                          "the task takes slots=1"));
  EXPECT_THAT(block_errors("submit J afterok=K"),
              ElementsAre("f:3:18: unknown job 'K': none is declared"));
  EXPECT_THAT(block_errors("submit J on=x9"),
              ElementsAre("f:3:13: unknown node or pool 'x9': expected one of n1, n2"));
  EXPECT_THAT(block_errors("submit J time=0s"),
              ElementsAre("f:3:15: time: expected a duration above 0s"));
  EXPECT_THAT(block_errors("submit J,J"), ElementsAre("f:3:8: job 'J' is declared twice"));
  EXPECT_THAT(block_errors("submit J.1"),
              ElementsAre("f:3:8: 'J.1' cannot name a job: expected letters, digits, '_' and '-' "
                          "(a '.' stands before the number of a member)"));
  EXPECT_THAT(block_errors("submit cluster"),
              ElementsAre("f:3:8: 'cluster' cannot name a job: the word has a meaning of its own"));
  EXPECT_THAT(block_errors("submit J class=fre"),
              ElementsAre("f:3:16: unknown class 'fre'; did you mean 'free'?"));
}

TEST(Classes, AreDefaultsOfTheirJobs) {
  const auto scenario = good(
      "node n1 slots=4 gpus=1\nclass base cpus=2 time=1h\nclass small class=base slots=2\n"
      "at 0s\nsubmit A class=small\nsubmit B class=small gpus=1 time=2h\nsubmit C class=free\n"
      "submit D class=interactive\n");
  EXPECT_EQ(scenario.spec_of(0).shape.task.slots, 2);
  EXPECT_EQ(scenario.spec_of(0).shape.task.cpus, 2);
  EXPECT_EQ(scenario.templates[0].runs, Duration::hours(1));
  EXPECT_EQ(scenario.spec_of(1).shape.task.slots, 0);
  EXPECT_EQ(scenario.spec_of(1).shape.task.gpus, kWholeGpu);
  EXPECT_EQ(scenario.spec_of(1).time_limit, Duration::hours(2));
  EXPECT_FALSE(scenario.spec_of(2).charge);
  EXPECT_EQ(scenario.spec_of(2).min_runtime, Duration{});
  EXPECT_TRUE(scenario.spec_of(3).interactive);
}

TEST(Classes, ReportAnErrorOnceHoweverManyJobsUseThem) {
  EXPECT_THAT(errors_of("node n1\nclass c queue=q\nat 0s\nsubmit A class=c\nsubmit B class=c\n"),
              ElementsAre("f:2:15: unknown queue 'q': none is declared, so there is only "
                          "'default'"));
  EXPECT_THAT(errors_of("class free gpus=1\n"), ElementsAre("f:1:7: class 'free' is built in"));
}

TEST(Groups, TakeNumbersFromTheCounterOfJobs) {
  const auto scenario = good(
      "node n1\nat 0s\nsubmit A array=3%2\nsubmit J\nsubmit P every=2m until=5m\n"
      "submit K afterok=A,P.2\n");
  ASSERT_EQ(scenario.groups.size(), 2U);
  EXPECT_EQ(scenario.groups[0].id, GroupId(1));
  EXPECT_EQ(scenario.groups[0].throttle, 2);
  ASSERT_EQ(scenario.jobs.size(), 8U);
  EXPECT_EQ(scenario.jobs[2].name, "A.3");
  EXPECT_EQ(scenario.jobs[2].id, JobId(4));
  EXPECT_EQ(scenario.jobs[2].group, GroupId(1));
  EXPECT_EQ(scenario.jobs[2].group_index, 3);
  EXPECT_EQ(scenario.jobs[3].id, JobId(5));
  EXPECT_EQ(scenario.groups[1].id, GroupId(6));
  EXPECT_EQ(scenario.groups[1].size, 3U) << "at 0m, 2m and 4m";
  const auto& dependencies = scenario.spec_of(7).dependencies;
  EXPECT_EQ(dependencies[0].group, GroupId(1));
  EXPECT_FALSE(dependencies[0].job.valid());
  EXPECT_EQ(dependencies[1].job, JobId(8));
  EXPECT_EQ(scenario.name_of_job(JobId(8)), "P.2");
  EXPECT_EQ(scenario.name_of_job(JobId(6)), "job 6") << "a group is no job";
}

TEST(Groups, RefuseBadSizes) {
  EXPECT_THAT(block_errors("submit A array=0"),
              ElementsAre("f:3:16: array: '0' is not an array: expected MEMBERS or "
                          "MEMBERS%AT_ONCE, like 25%16"));
  EXPECT_THAT(block_errors("submit A array=100001"),
              ElementsAre("f:3:8: more than 100000 jobs in one file"));
  EXPECT_THAT(block_errors("submit A every=2m"),
              ElementsAre("f:3:10: every and until go together, like every=2m until=50m"));
  EXPECT_THAT(block_errors("submit A every=2m until=-1s"),
              ElementsAre("f:3:25: until: expected an instant that is not before this block's "
                          "(0s)"));
  EXPECT_THAT(block_errors("submit A array=2 every=2m until=5m"),
              ElementsAre("f:3:10: array and every exclude each other"));
}

TEST(Services, KnowAllTheirReplicasFromTheStart) {
  const auto scenario = good(
      "node n1\nat 0s\nservice S min=2 max=6 gpus=1\nat 1m\nscale S to=4\nat 2m\nscale S to=2\n"
      "at 3m\nscale S to=3\nexpect S.5 state=pending\n");
  EXPECT_EQ(scenario.groups[0].size, 5U) << "two, two more, and one after two had gone";
  const auto& up = std::get<ScaleStatement>(scenario.blocks[1].statements[0].body);
  EXPECT_THAT(up.added, ElementsAre(2, 3));
  const auto& down = std::get<ScaleStatement>(scenario.blocks[2].statements[0].body);
  EXPECT_THAT(down.removed, ElementsAre(3, 2)) << "the newest first";
  const auto& again = std::get<ScaleStatement>(scenario.blocks[3].statements[0].body);
  EXPECT_THAT(again.added, ElementsAre(4));
  EXPECT_THAT(errors_of("node n1\nat 0s\nservice S min=2 max=4\nat 1m\nscale S to=5\n"),
              ElementsAre("f:5:12: to: expected a whole number from 2 to 4"));
  EXPECT_THAT(errors_of("node n1\nat 0s\nsubmit S\nscale S to=5\n"),
              ElementsAre("f:4:7: unknown service 'S': none is declared"));
}

TEST(Running, NeedsAPlaceAndAPast) {
  const auto scenario = good(
      "node n1 gpus=4\nrunning R on=n1 devices=n1:1-2 gpus=2 started=-13h min_runtime=0s\nat 0s\n");
  const auto& running = std::get<RunningStatement>(scenario.stage[1].body);
  EXPECT_EQ(running.started, Instant(Duration::hours(-13).ns()));
  EXPECT_THAT(running.devices, ElementsAre(DeviceName{"n1", 1}, DeviceName{"n1", 2}));
  EXPECT_TRUE(scenario.spec_of(0).shape.on.empty()) << "where it runs is no wish";
  EXPECT_THAT(errors_of("node n1 gpus=4\nrunning R gpus=2\n"),
              ElementsAre("f:2:17: expected on=NODES: where the job runs"));
  EXPECT_THAT(errors_of("node n1 gpus=4\nrunning R on=n1 devices=n1:0-1\n"),
              ElementsAre("f:2:25: devices: 2 named, but the job asks for 1"));
  EXPECT_THAT(errors_of("node n1 gpus=4\nrunning R on=n1 devices=n1:4\n"),
              ElementsAre("f:2:25: 'n1:4': node n1 has 4 GPUs, counted from 0"));
  EXPECT_THAT(errors_of("node n1 gpus=4\nrunning R on=n1 started=1h\n"),
              ElementsAre("f:2:25: started: expected an instant that is not after the start (0s), "
                          "like -13h"));
  EXPECT_THAT(errors_of("node n1 gpus=4\nrunning R on=n1 array=3\n"),
              ElementsAre(testing::StartsWith("f:2:17: unknown key of 'running' 'array': expected "
                                              "one of queue, user, ")));
}

TEST(Usage, IsBeforeTheStart) {
  const auto scenario = good("queue q\nusage q gpu_hours=1.5 from=-6d to=0s\n");
  const auto& usage = std::get<UsageStatement>(scenario.stage[1].body).usage;
  EXPECT_EQ(usage.milli_gpu_seconds, 5'400'000);
  EXPECT_EQ(usage.from, Instant(Duration::days(-6).ns()));
  EXPECT_THAT(errors_of("queue q\nusage q gpu_hours=1\n"),
              ElementsAre("f:2:20: expected at=INSTANT, or from=INSTANT to=INSTANT"));
  EXPECT_THAT(errors_of("queue q\nusage q gpu_hours=1 at=1h\n"),
              ElementsAre("f:2:24: at: expected an instant that is not after the start (0s)"));
  EXPECT_THAT(errors_of("queue q\nusage p gpu_hours=1 at=0s\n"),
              ElementsAre("f:2:7: unknown queue 'p': expected q"));
}

TEST(Happenings, ReadDevicesCommandsAndActivity) {
  const auto scenario = good(
      "node n1 gpus=4\nat 0s\nsubmit J array=2\nfinish J.1 exit=3\ncancel J.2\nhold J\nrelease J\n"
      "resize J tasks=3\nfail_node n1\nrecover_node n1\ndrain n1\nundrain n1\nquarantine n1\n"
      "gpu_error n1:3 xid=31\nrecover_gpu n1:3\nforeign n1:0-1 memory=12GiB pid=4711 user=eve\n"
      "foreign_gone n1:0\nbusy J ratio=0.25\n");
  const auto& statements = scenario.blocks[0].statements;
  ASSERT_EQ(statements.size(), 16U);
  EXPECT_EQ(std::get<FinishStatement>(statements[1].body).exit_code, 3);
  EXPECT_FALSE(std::get<CommandStatement>(statements[2].body).targets.by_group);
  EXPECT_TRUE(std::get<CommandStatement>(statements[3].body).targets.by_group);
  EXPECT_EQ(std::get<CommandStatement>(statements[4].body).verb, JobVerb::kRelease);
  EXPECT_EQ(std::get<ResizeStatement>(statements[5].body).tasks, 3);
  EXPECT_EQ(std::get<NodeCommandStatement>(statements[10].body).verb, NodeVerb::kQuarantine);
  EXPECT_EQ(std::get<DeviceStatement>(statements[11].body).reports[0].xid, 31);
  const auto& foreign = std::get<DeviceStatement>(statements[13].body).reports;
  ASSERT_EQ(foreign.size(), 2U);
  EXPECT_EQ(foreign[1].device, 1);
  EXPECT_EQ(foreign[1].pid, 4711);
  EXPECT_EQ(foreign[1].memory, gibibytes(12));
  EXPECT_EQ(std::get<BusyStatement>(statements[15].body).busy_per_mille, 250);
  EXPECT_THAT(block_errors("gpu_error n1"),
              ElementsAre("f:3:11: 'n1' is not a device: expected NODE:INDEX, like n1:0, n1:0-3 or "
                          "n1:0@4"));
  EXPECT_THAT(block_errors("drain n1 now=yes"), ElementsAre("f:3:10: 'drain' takes no key=value"));
}

TEST(ManyErrors, StopAtAHundred) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "nonsense\n";
  const auto errors = errors_of(text);
  ASSERT_EQ(errors.size(), 101U);
  EXPECT_EQ(errors.back(), "f:101:1: more than 100 errors; the rest is not shown");
}

TEST(ScenarioFrom, JoinsAllErrors) {
  const auto result = scenario_from("nodes n1\nquee q\n", "f");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "f:1:1: unknown verb 'nodes'; did you mean 'node'?\n"
            "f:2:1: unknown verb 'quee'; did you mean 'queue'?");
}

}  // namespace
}  // namespace rota::sim
