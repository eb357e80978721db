#include "cli/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/read_file.h"

namespace rota::cli {
namespace {

using std::chrono::seconds;

std::string text_in(std::FILE* file) {
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

struct Ran {
  Result<ProgramEnd> end;
  std::string output;
};

Ran run(const std::vector<std::string>& argv, const std::vector<std::string>& environment = {},
        seconds patience = seconds(20)) {
  std::FILE* const output = std::tmpfile();
  Ran ran{run_program(argv, fileno(output), environment, patience), {}};
  ran.output = text_in(output);
  std::fclose(output);
  return ran;
}

TEST(RunProgram, OutputErrorsAndCodeComeBackApart) {
  const Ran ran = run({"sh", "-c", "echo out; echo err >&2; exit 3"});
  ASSERT_TRUE(ran.end) << ran.end.error().message;
  EXPECT_EQ(ran.end->code, 3);
  EXPECT_EQ(ran.end->errors, "err\n");
  EXPECT_EQ(ran.output, "out\n");
  const Ran killed = run({"sh", "-c", "kill -9 $$"});
  ASSERT_TRUE(killed.end);
  EXPECT_EQ(killed.end->code, 137);
}

TEST(RunProgram, WordsAreNotReadByAShell) {
  EXPECT_EQ(run({"printf", "%s", "$(id); *"}).output, "$(id); *");
}

TEST(RunProgram, VariablesAreSetAndTakenAway) {
  ::setenv("ROTA_TEST_LEFT", "yes", 1);
  ::setenv("ROTA_TEST_TAKEN", "yes", 1);
  const Ran ran =
      run({"sh", "-c", "echo \"$ROTA_TEST_LEFT-${ROTA_TEST_TAKEN-gone}-$ROTA_TEST_NEW\""},
          {"ROTA_TEST_TAKEN", "ROTA_TEST_NEW=a=b"});
  EXPECT_EQ(ran.output, "yes-gone-a=b\n");
}

TEST(RunProgram, WhatIsNotThereAndWhatDoesNotEnd) {
  const Ran missing = run({"rota-no-such-program"});
  ASSERT_FALSE(missing.end);
  EXPECT_EQ(missing.end.error().code, ErrorCode::kNotFound);
  const Ran endless = run({"sleep", "60"}, {}, seconds(1));
  ASSERT_FALSE(endless.end);
  EXPECT_EQ(endless.end.error().code, ErrorCode::kTimeout);
}

TEST(RunProgram, MoreErrorsThanAreKeptDoNotStopIt) {
  const Ran ran = run({"sh", "-c", "head -c 300000 /dev/zero >&2; echo done"});
  ASSERT_TRUE(ran.end);
  EXPECT_EQ(ran.end->errors.size(), 64U * 1024);
  EXPECT_EQ(ran.output, "done\n");
}

constexpr std::chrono::minutes kLong(1);

TEST(RunShell, GivesTheInputAndTheExitCode) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("rota-shell-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "input").string();
  // More than a pipe holds, to one that reads nothing and to one that reads all.
  const std::string input(300'000, 'x');
  const auto ignored = run_shell("exit 7", input, kLong);
  ASSERT_TRUE(ignored);
  EXPECT_EQ(*ignored, 7);
  const auto copied = run_shell("cat >" + file, input, kLong);
  ASSERT_TRUE(copied);
  EXPECT_EQ(*copied, 0);
  const auto text = read_text(file);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, input);
  std::filesystem::remove_all(folder);
}

TEST(RunShell, KillsWhatGivesNoEndAndAllItStarted) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("rota-shell-" + std::to_string(::getpid()) + ".pids");
  const std::string hang = "sleep 600 & echo $$ $! >" + file.string() + "; trap '' TERM; wait";
  const auto begin = std::chrono::steady_clock::now();
  const auto killed = run_shell(hang, "", std::chrono::milliseconds(1500));
  ASSERT_FALSE(killed);
  EXPECT_EQ(killed.error().code, ErrorCode::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  std::ifstream pids(file);
  pid_t shell = 0;
  pid_t sleeper = 0;
  ASSERT_TRUE(pids >> shell >> sleeper);
  EXPECT_TRUE(wait_until_gone(shell, std::chrono::seconds(30)));
  EXPECT_TRUE(wait_until_gone(sleeper, std::chrono::seconds(30)));
  std::filesystem::remove(file);
}

TEST(RunShell, TellsTheSignal) {
  const auto killed = run_shell("kill -TERM $$", "", kLong);
  ASSERT_TRUE(killed);
  EXPECT_EQ(*killed, 143);
}

}  // namespace
}  // namespace rota::cli
