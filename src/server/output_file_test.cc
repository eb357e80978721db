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
  EXPECT_EQ(read_output(path_, {}, {.offset = 3, .limit = 4})->data, "3456");
  EXPECT_EQ(read_output(path_, {}, {.offset = -2, .limit = 4})->data, "89");
  EXPECT_EQ(read_output(path_, {}, {.offset = -99, .limit = 2})->data, "01");
  const auto beyond = read_output(path_, {}, {.offset = 99, .limit = 4});
  EXPECT_EQ(beyond->data, "");
  EXPECT_EQ(beyond->size, 10);
}

TEST_F(OutputFile, AMissingFileIsNotFound) {
  EXPECT_EQ(read_output(folder_ + "/none", {}, {}).error().code, ErrorCode::kNotFound);
}

TEST_F(OutputFile, OnlyRegularFiles) {
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0644), 0);
  EXPECT_EQ(read_output(fifo, {}, {}).error().code, ErrorCode::kDenied);
  EXPECT_EQ(read_output(folder_, {}, {}).error().code, ErrorCode::kDenied);
}

TEST_F(OutputFile, ADaemonThatIsNotRootReadsForNobodyElse) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may";
  const Account other{.uid = static_cast<std::int64_t>(::geteuid()) + 1};
  EXPECT_EQ(read_output(path_, other, {}).error().code, ErrorCode::kDenied);
}

/// A root daemon and a job of account 65534.
class OutputFileAsRoot : public OutputFile {
 protected:
  const Account nobody_{.uid = 65534, .gid = 65534, .user = {}};
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    OutputFile::SetUp();
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    std::filesystem::create_directory(folder_ + "/secret");
    std::ofstream(folder_ + "/secret/file") << "for root alone";
    ASSERT_EQ(::chmod((folder_ + "/secret").c_str(), 0700), 0);
  }
  ErrorCode refusal(const std::string& path) {
    const auto piece = read_output(path, nobody_, {});
    EXPECT_FALSE(piece.ok()) << piece->data;
    return piece.ok() ? ErrorCode::kUnsupported : piece.error().code;
  }
};

TEST_F(OutputFileAsRoot, WhatTheOwnerMayReadIsRead) {
  EXPECT_EQ(read_output(path_, nobody_, {})->data, "0123456789");
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(path_), ErrorCode::kDenied);
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(read_output(path_, nobody_, {})->data, "0123456789");
}

TEST_F(OutputFileAsRoot, NoLinkLeadsToWhatTheOwnerMayNotRead) {
  // The file itself is readable for everybody; the folder on the way is not.
  EXPECT_EQ(refusal(folder_ + "/secret/file"), ErrorCode::kDenied);
  std::filesystem::create_symlink(folder_ + "/secret/file", folder_ + "/link");
  EXPECT_EQ(refusal(folder_ + "/link"), ErrorCode::kDenied);
  std::filesystem::create_symlink(folder_ + "/secret", folder_ + "/way");
  EXPECT_EQ(refusal(folder_ + "/way/file"), ErrorCode::kDenied);
  EXPECT_EQ(refusal("/proc/self/root" + folder_ + "/secret/file"), ErrorCode::kDenied);
  EXPECT_EQ(refusal(folder_ + "/secret/no-such-file"), ErrorCode::kDenied)
      << "not even whether a file is there";
}

TEST_F(OutputFileAsRoot, FilesOfTheOwnersGroupsAreRead) {
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  ASSERT_EQ(::chown(path_.c_str(), 0, 65534), 0);
  EXPECT_EQ(read_output(path_, nobody_, {})->data, "0123456789");
}

TEST_F(OutputFileAsRoot, AfterwardsTheThreadIsItself) {
  (void)read_output(path_, nobody_, {});
  EXPECT_EQ(read_output(folder_ + "/secret/file", {}, {})->data, "for root alone");
  std::ofstream(folder_ + "/secret/new") << "x";
  struct stat info {};
  ASSERT_EQ(::stat((folder_ + "/secret/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0U);
}

}  // namespace
}  // namespace rota::server
