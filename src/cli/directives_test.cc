#include "cli/directives.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/test_world.h"

namespace rota::cli {
namespace {

/// The finished request of a script, or its error.
Result<api::SubmitRequest> request_of(const std::string& script, TestWorld& world,
                                      std::vector<std::string>* warnings = nullptr) {
  const auto head = read_directives(script, "job.sh");
  if (!head) return head.error();
  Draft draft;
  draft.slurm_style = head->has_sbatch;
  if (auto status = apply_uses(head->uses, draft, world.context); !status) return status.error();
  if (auto status = finish_draft(draft, world.context); !status) return status.error();
  if (warnings != nullptr) *warnings = draft.warnings;
  return draft.request;
}

api::SubmitRequest good(const std::string& lines, std::vector<std::string>* warnings = nullptr) {
  TestWorld world;
  const auto request = request_of("#!/bin/sh\n" + lines + "\necho hi\n", world, warnings);
  EXPECT_TRUE(request) << request.error().where << ": " << request.error().message;
  return request ? *request : api::SubmitRequest{};
}

Error refused(const std::string& lines) {
  TestWorld world;
  const auto request = request_of("#!/bin/sh\n" + lines + "\necho hi\n", world);
  EXPECT_FALSE(request) << lines;
  return request ? Error{} : request.error();
}

TEST(Directives, ReadsBothMarksInEverySpelling) {
  const auto request = good(
      "#SBATCH -J train --time=1-12:00:00\n"
      "#\n"
      "# a remark\n"
      "##SBATCH --gpus=99\n"
      "#SBATCH --gres=gpu:h100:4 -N2   # two nodes\n"
      "#SBATCH -o \"out %j.txt\"\n"
      "#ROTA --min-runtime 2h --queue=vision");
  EXPECT_EQ(request.name, "train");
  EXPECT_EQ(request.time_limit_seconds, 129600);
  EXPECT_EQ(request.gpus, 4);
  EXPECT_EQ(request.tasks, 2);
  EXPECT_EQ(request.models, std::vector<std::string>{"h100"});
  EXPECT_EQ(request.stdout_path, "out %j.txt");
  EXPECT_EQ(request.min_runtime_seconds, 7200);
  EXPECT_EQ(request.queue, "vision");
  EXPECT_TRUE(request.slurm_style);
}

TEST(Directives, EndAtTheFirstCommand) {
  const auto head = read_directives("#!/bin/sh\n\n#ROTA --gpus 1\ncd /\n#SBATCH --gpus=2\n", "j");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->uses.size(), 1U);
  EXPECT_FALSE(head->has_sbatch);
  ASSERT_EQ(head->warnings.size(), 1U);
  EXPECT_EQ(head->warnings[0].substr(0, 6), "j:5:1:");
}

struct BadLine {
  const char* lines;
  const char* where;
  const char* message;
};

TEST(Directives, ErrorsNameFileLineColumnAndTheNearestWord) {
  const BadLine cases[] = {
      {"#SBATCH --gpsu=1", "job.sh:2:9", "did you mean '--gpus'"},
      {"#ROTA  --queu x", "job.sh:2:8", "did you mean '--queue'"},
      {"#SBATCH -N 2 --nonsense", "job.sh:2:14", "unknown option '--nonsense'"},
      {"#SBATCH -Z", "job.sh:2:10", "unknown option '-Z'"},
      {"#SBATCH --time", "job.sh:2:9", "needs a value"},
      {"#SBATCH --hold=3", "job.sh:2:9", "takes no value"},
      {"#SBATCH gpus=1", "job.sh:2:9", "unexpected word 'gpus=1'"},
      {"#SBATCH --", "job.sh:2:9", "unexpected word"},
      {"#SBATCH -J 'open", "job.sh:2:9", "never closed"},
      {"#SBATCH --time=soon", "job.sh:2:9", "'soon' is no duration"},
      {"\n#SBATCH --gpus=x", "job.sh:3:9", "expected a number of GPUs"},
      {"#SBATCH --reservation=r", "job.sh:2:9", "--reservation is not supported"},
      {"#SBATCH --exclusive", "job.sh:2:9", "--exclusive is not supported"},
      {"#SBATCH -d singleton", "job.sh:2:9", "'singleton' is not supported"},
      {"#SBATCH -d afterok:1?afterany:2", "job.sh:2:9", "alternatives"},
      {"#SBATCH -C bigdisk", "job.sh:2:9", "no feature 'bigdisk'"},
      {"#SBATCH --gres=nic:1", "job.sh:2:9", "no 'nic'"},
      {"#SBATCH --signal=USR9@60", "job.sh:2:9", "did you mean USR"},
      {"#SBATCH -a 5-1", "job.sh:2:9", "expected indices"},
      {"#SBTACH --gpus=1", "job.sh:2:1", "misspelt #SBATCH"},
      {"# SBATCH --gpus=1", "job.sh:2:1", "misspelt #SBATCH"},
      {"#SBATCH--gpus=1", "job.sh:2:1", "misspelt #SBATCH"},
      {"#rota -G 1", "job.sh:2:1", "misspelt #ROTA"},
      {"#ROTA --account=x", "job.sh:2:7", "unknown option '--account=x'"},
      {"#SBATCH --queue=x", "job.sh:2:9", "unknown option '--queue=x'"},
  };
  for (const BadLine& c : cases) {
    const Error error = refused(c.lines);
    EXPECT_EQ(error.where, c.where) << c.lines;
    EXPECT_NE(error.message.find(c.message), std::string::npos) << c.lines << ": " << error.message;
  }
}

TEST(Directives, OrdinaryRemarksAreNoDirectives) {
  good("# rota - the scheduler\n# sbatch files are read too\n# see note -- or not\n#-------\n#");
}

// --- sbatch's sizes, as Slurm reads them ---

struct SizeCase {
  const char* options;
  std::int64_t tasks;
  double gpus;
  std::int64_t cpus;
};

TEST(SbatchSizes, BecomeTasksOfOneNodeEach) {
  const SizeCase cases[] = {
      {"--gpus=2", 1, 2, 1},
      {"-G h100:8 -N 2", 2, 4, 1},
      {"--gres=gpu:4 --ntasks=4", 1, 4, 4},
      {"--gres=gpu", 1, 1, 1},
      {"--gres=gpu:a100", 1, 1, 1},
      {"-N 4 --gpus-per-node=8 --ntasks-per-node=8 -c 12", 4, 8, 96},
      {"-n 8 --gpus-per-task=1 -c 4", 8, 1, 4},
      {"-N 2 -n 8 --gpus-per-task=1", 2, 4, 4},
      {"-N 2 --ntasks-per-node=2 --gpus-per-task=2", 2, 4, 2},
      {"-n 8 --ntasks-per-node=4 --gres=gpu:4", 2, 4, 4},
      {"-n 4 --gpus=4", 4, 1, 1},
      {"--gpus=2 --cpus-per-gpu=6", 1, 2, 12},
      {"--gpus-per-node=4 --gpus-per-task=1 -N 1 -n 4", 1, 4, 4},
      {"--gres=mps:50", 1, 0.5, 1},
      {"--time=10", 1, 0, 1},
  };
  for (const SizeCase& c : cases) {
    const auto request = good(std::string("#SBATCH ") + c.options);
    EXPECT_EQ(request.tasks, c.tasks) << c.options;
    EXPECT_EQ(request.gpus.value_or(-1), c.gpus) << c.options;
    EXPECT_EQ(request.cpus, c.cpus) << c.options;
  }
  EXPECT_NE(refused("#SBATCH --gpus=8 -N 3").message.find("divided evenly"), std::string::npos);
  EXPECT_NE(refused("#SBATCH -N 4 -n 2").message.find("less than --nodes"), std::string::npos);
}

TEST(SbatchSizes, MemoryCountsMebibytesWhenBare) {
  EXPECT_EQ(good("#SBATCH --mem=64G").memory_bytes, 64LL << 30);
  EXPECT_EQ(good("#SBATCH --mem=4000").memory_bytes, 4000LL << 20);
  EXPECT_EQ(good("#SBATCH --mem-per-cpu=2G -c 8").memory_bytes, 16LL << 30);
  EXPECT_EQ(good("#SBATCH --mem-per-gpu=10G --gpus=4").memory_bytes, 40LL << 30);
  refused("#SBATCH --mem=lots");
}

TEST(SbatchSizes, SharesAndMig) {
  EXPECT_EQ(good("#SBATCH --gres=shard:3").slots, 3);
  const auto mig = good("#SBATCH --gres=gpu:a100_3g.20gb:1");
  EXPECT_EQ(mig.mig, "3g.20gb");
  EXPECT_EQ(mig.models, std::vector<std::string>{"a100"});
  EXPECT_FALSE(mig.gpus.has_value());
  refused("#SBATCH --gres=gpu:a100_3g.20gb:2");
}

/// The options of sbatch that users have in their scripts: each is carried out, accepted with a
/// warning, or refused by name; none is unknown.
TEST(Sbatch, KnowsEveryOptionOfTheList) {
  const std::set<std::string> refused_names{"exclusive", "reservation", "gpus-per-socket"};
  const std::pair<const char*, const char*> lines[] = {
      {"account", "-A x"}, {"array", "--array=1-320%40"}, {"array", "-a 1-3"}, {"begin", "-b now"},
      {"cpus-per-task", "-c 4"}, {"constraint", "-C a100|h100"}, {"chdir", "-D /tmp"},
      {"dependency", "-d after:1,afterany:2:3"}, {"dependency", "-d afterok:4"},
      {"error", "-e %x-%j.err"}, {"output", "-o %A_%a.%N"}, {"exclusive", "--exclusive"},
      {"exclusive", "--exclusive=user"}, {"gpus", "-G a100:2"}, {"gpus", "--gpus=2"},
      {"gpus-per-node", "--gpus-per-node=1"}, {"gpus-per-task", "--gpus-per-task=1"},
      {"gpus-per-socket", "--gpus-per-socket=1"}, {"gres", "--gres=gpu:2"},
      {"gres", "--gres=gpu:a100:2"}, {"gres", "--gres=shard:2"}, {"gres", "--gres=mps:20"},
      {"gpu-bind", "--gpu-bind=closest"}, {"hold", "-H"}, {"job-name", "-J x"},
      {"no-kill", "-k"}, {"no-kill", "--no-kill=off"},
      {"kill-on-invalid-dep", "--kill-on-invalid-dep=yes"}, {"mail-type", "--mail-type=END"},
      {"mail-user", "--mail-user=me"}, {"mem", "--mem=1G"},
      {"mem-per-gpu", "--mem-per-gpu=1G --gpus=1"}, {"mem-per-cpu", "--mem-per-cpu=1G"},
      {"cpus-per-gpu", "--cpus-per-gpu=2"}, {"nodes", "-N 2"}, {"ntasks", "-n 2"},
      {"ntasks-per-node", "--ntasks-per-node=2"}, {"ntasks-per-gpu", "--ntasks-per-gpu=1"},
      {"nice", "--nice"}, {"nice", "--nice=50"}, {"open-mode", "--open-mode=append"},
      {"parsable", "--parsable"}, {"partition", "-p gpu"}, {"qos", "-q debug"},
      {"requeue", "--requeue"}, {"no-requeue", "--no-requeue"}, {"reservation", "--reservation=r"},
      {"signal", "--signal=B:USR1@300"}, {"signal", "--signal=USR1"}, {"switches", "--switches=1"},
      {"test-only", "--test-only"}, {"time", "-t 2-00:00:00"}, {"time-min", "--time-min=10"},
      {"wait", "-W"}, {"nodelist", "-w n[1-2]"}, {"exclude", "-x n3"}, {"wrap", "--wrap=hostname"},
      {"segment", "--segment=2 -N2"}, {"comment", "--comment=x"}, {"export", "--export=ALL"},
      {"deadline", "--deadline=now+2h"}, {"priority", "--priority=5"}, {"quiet", "--quiet"},
  };
  for (const auto& [name, line] : lines) {
    TestWorld world;
    const auto request = request_of(std::string("#SBATCH ") + line + "\n", world);
    if (refused_names.contains(name)) {
      ASSERT_FALSE(request) << line;
      EXPECT_NE(request.error().message.find(std::string("--") + name + " is not supported"),
                std::string::npos);
    } else {
      EXPECT_TRUE(request) << line << ": " << request.error().message;
    }
  }
}

TEST(Sbatch, MeansWhatSlurmMeans) {
  const auto request = good(
      "#SBATCH --signal=B:USR1@300 --nice=50 --open-mode=append --no-requeue -d after:1:2\n"
      "#SBATCH -p big,small -q debug -A vision -C \"a100|h100&rack=r1\" -a 0-6:2%2");
  EXPECT_EQ(request.warn_signal, 10);
  EXPECT_EQ(request.warn_before_seconds, 300);
  EXPECT_EQ(request.priority, -50);
  EXPECT_TRUE(request.append_output);
  EXPECT_EQ(request.requeue, false);
  EXPECT_EQ(request.after, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(request.on, (std::vector<std::string>{"big", "small"}));
  EXPECT_EQ(request.job_class, "debug");
  EXPECT_EQ(request.queue, "vision");
  EXPECT_EQ(request.models, (std::vector<std::string>{"a100", "h100"}));
  EXPECT_EQ(request.labels.at("rack"), "r1");
  EXPECT_EQ(request.array, (std::vector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(request.max_concurrent, 2);
}

TEST(Sbatch, WarnsWhereThereIsNothingToDo) {
  std::vector<std::string> warnings;
  good("#SBATCH --mail-type=END --gpu-bind=closest", &warnings);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[0].find("sends no mail"), std::string::npos);
}

}  // namespace
}  // namespace rota::cli
