#include "cli/process.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/read_file.h"

namespace rota::cli {
namespace {

TEST(RunShell, GivesTheInputAndTheExitCode) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("rota-shell-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "input").string();
  // More than a pipe holds, to one that reads nothing and to one that reads all.
  const std::string input(300'000, 'x');
  const auto ignored = run_shell("exit 7", input);
  ASSERT_TRUE(ignored);
  EXPECT_EQ(*ignored, 7);
  const auto copied = run_shell("cat >" + file, input);
  ASSERT_TRUE(copied);
  EXPECT_EQ(*copied, 0);
  const auto text = read_text(file);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, input);
  std::filesystem::remove_all(folder);
}

TEST(RunShell, TellsTheSignal) {
  const auto killed = run_shell("kill -TERM $$", "");
  ASSERT_TRUE(killed);
  EXPECT_EQ(*killed, 143);
}

}  // namespace
}  // namespace rota::cli
