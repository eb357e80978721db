#include "history/openb_csv.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rota::history {
namespace {

Result<std::vector<NodeSpec>> nodes(const std::string& text) {
  std::istringstream input(text);
  return read_openb_nodes(input, "nodes.csv");
}

Result<std::vector<ListedTask>> tasks(const std::string& text) {
  std::istringstream input(text);
  return read_openb_tasks(input, "tasks.csv");
}

TEST(OpenbCsv, ReadsNodes) {
  const auto read = nodes(
      "sn,cpu_milli,memory_mib,gpu,model\n"
      "a,64000,262144,2,P100\n"
      "b,32000,1024,0,\n");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].name, "a");
  EXPECT_EQ((*read)[0].cpus, 64'000);
  EXPECT_EQ((*read)[0].memory, gibibytes(256));
  ASSERT_EQ((*read)[0].devices.size(), 2U);
  EXPECT_EQ((*read)[0].devices[1].model, "P100");
  EXPECT_TRUE((*read)[1].devices.empty());
}

TEST(OpenbCsv, ReadsTasks) {
  const auto read = tasks(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
      "whole,12000,16384,1,1000,,LS\n"
      "part,6000,12288,1,460,T4,LS\n"
      "many,6000,12288,8,1000,V100M16|V100M32|V100M32,LS\n"
      "none,500,1024,0,0,,BE\n");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 4U);
  EXPECT_EQ((*read)[0].shape.task.gpus, kWholeGpu);
  EXPECT_EQ((*read)[1].shape.task.gpus, MilliGpu(460));
  EXPECT_EQ((*read)[1].shape.models, std::vector<std::string>{"T4"});
  EXPECT_EQ((*read)[2].shape.task.gpus, MilliGpu(8000));
  EXPECT_EQ((*read)[2].shape.models, (std::vector<std::string>{"V100M16", "V100M32"}));
  EXPECT_EQ((*read)[3].shape.task.gpus, MilliGpu(0));
  EXPECT_EQ((*read)[3].shape.task.cpus, 500);
}

TEST(OpenbCsv, ErrorsNameThePlace) {
  const auto lacking = nodes("sn,cpu_milli,memory_mib,model\na,1,1,x\n");
  ASSERT_FALSE(lacking);
  EXPECT_EQ(lacking.error().where, "nodes.csv:1:1");
  EXPECT_NE(lacking.error().message.find("no column 'gpu'"), std::string::npos);
  const auto wrong = nodes("sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,two,P100\n");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, "nodes.csv:2:16");
  const auto split = tasks(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nt,1,1,2,500,\n");
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().where, "tasks.csv:2:9");
  const auto fewer = tasks("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nt,1,1\n");
  ASSERT_FALSE(fewer);
  EXPECT_EQ(fewer.error().where, "tasks.csv:2:1");
  EXPECT_FALSE(tasks(""));
}

}  // namespace
}  // namespace rota::history
