#include "server/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rota::server {
namespace {

class OutputFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "rota_output_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/out";
    std::ofstream(path_) << "0123456789";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  std::string path_;
};

TEST_F(OutputFile, ReadsFromStartEndAndBeyond) {
  EXPECT_EQ(read_output(path_, -1, {.offset = 3, .limit = 4})->data, "3456");
  EXPECT_EQ(read_output(path_, -1, {.offset = -2, .limit = 4})->data, "89");
  EXPECT_EQ(read_output(path_, -1, {.offset = -99, .limit = 2})->data, "01");
  const auto beyond = read_output(path_, -1, {.offset = 99, .limit = 4});
  EXPECT_EQ(beyond->data, "");
  EXPECT_EQ(beyond->size, 10);
}

TEST_F(OutputFile, AMissingFileIsNotFound) {
  EXPECT_EQ(read_output(folder_ + "/none", -1, {}).error().code, ErrorCode::kNotFound);
}

TEST_F(OutputFile, OnlyRegularFilesOfTheOwner) {
  ::chmod(path_.c_str(), 0600);
  const auto other = static_cast<std::int64_t>(::geteuid()) + 1;
  EXPECT_EQ(read_output(path_, other, {}).error().code, ErrorCode::kDenied);
  ::chmod(path_.c_str(), 0644);
  EXPECT_TRUE(read_output(path_, other, {}).ok());
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0644), 0);
  EXPECT_EQ(read_output(fifo, -1, {}).error().code, ErrorCode::kDenied);
  EXPECT_EQ(read_output(folder_, -1, {}).error().code, ErrorCode::kDenied);
}

}  // namespace
}  // namespace rota::server
