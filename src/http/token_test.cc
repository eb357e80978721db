#include "http/token.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rota::http {
namespace {

class Token : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "rota_token_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/token";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& text, mode_t mode) const {
    std::ofstream(path_) << text;
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
  }

  std::string folder_;
  std::string path_;
};

TEST_F(Token, IsMadeOnceAndOnlyForItsOwner) {
  const auto made = load_or_make_token(path_);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->size(), 64U);
  EXPECT_EQ(*load_or_make_token(path_), *made);
  EXPECT_EQ(*load_token(path_), *made);
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Token, OfDaemonsThatStartAtOnceIsTheSame) {
  std::vector<std::string> tokens(8);
  std::vector<std::thread> threads;
  threads.reserve(tokens.size());
  for (std::string& token : tokens) {
    threads.emplace_back([&] {
      const auto made = load_or_make_token(path_);
      if (made) token = *made;
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string truth = *load_token(path_);
  for (const std::string& token : tokens) EXPECT_EQ(token, truth);
}

TEST_F(Token, OpenToOthersIsRefused) {
  write(*make_token() + "\n", 0644);
  const auto read = load_or_make_token(path_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kDenied);
  EXPECT_NE(read.error().message.find("chmod 600"), std::string::npos);
}

TEST_F(Token, DamagedIsReportedNotReplaced) {
  for (const auto* text : {"", "hello\n", "0123"}) {
    write(text, 0600);
    EXPECT_EQ(load_or_make_token(path_).error().code, ErrorCode::kCorruption) << text;
  }
}

TEST_F(Token, OfALinkOrFolderIsRefused) {
  ASSERT_EQ(::symlink("/etc/passwd", path_.c_str()), 0);
  EXPECT_FALSE(load_or_make_token(path_).ok());
  ::unlink(path_.c_str());
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(load_or_make_token(path_).ok());
}

TEST_F(Token, MissingIsNotFound) {
  EXPECT_EQ(load_token(path_).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(load_or_make_token(folder_ + "/missing/token").ok());
}

TEST(Secret, ComparesWholeTexts) {
  EXPECT_TRUE(equal_secret("abc", "abc"));
  EXPECT_FALSE(equal_secret("abc", "abd"));
  EXPECT_FALSE(equal_secret("abc", "ab"));
  EXPECT_TRUE(equal_secret("", ""));
}

TEST(MakeToken, IsNeverTheSame) { EXPECT_NE(*make_token(), *make_token()); }

}  // namespace
}  // namespace rota::http
