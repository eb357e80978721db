#include "cli/read_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "cli/exit_codes.h"

namespace rota::cli {
namespace {

TEST(ReadFile, SaysWhyItCannotBeRead) {
  const struct {
    const char* file;
    const char* message;
  } cases[] = {
      {"/tmp", "cannot read '/tmp': it is a folder"},
      {"/nowhere/x", "cannot read '/nowhere/x': No such file or directory"},
      {"/dev/null/x", "cannot read '/dev/null/x': Not a directory"},
      {"", "the name of a file is empty"},
  };
  for (const auto& c : cases) {
    const auto text = read_text(c.file);
    ASSERT_FALSE(text) << c.file;
    EXPECT_EQ(text.error().message, c.message);
    EXPECT_EQ(exit_code_of(text.error().code), kExitUsage);
    EXPECT_FALSE(open_to_read(c.file)) << c.file;
  }
  EXPECT_EQ(read_text("/proc/self/mem").error().message,
            "cannot read '/proc/self/mem': Input/output error");
}

TEST(ReadFile, TakesEveryByte) {
  const std::string file = ::testing::TempDir() + "/rota_read_file_test";
  const std::string bytes("a\r\n\0b", 5);
  std::ofstream(file, std::ios::binary) << bytes;
  const auto text = read_text(file);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, bytes);
  EXPECT_EQ(read_text("/dev/null").value(), "");
}

}  // namespace
}  // namespace rota::cli
