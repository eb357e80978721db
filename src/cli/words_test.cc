#include "cli/words.h"

#include <gtest/gtest.h>

#include "cli/app.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/test_world.h"

namespace rota::cli {
namespace {

class Words : public ::testing::Test {
 protected:
  Result<Walk> walk(const std::vector<std::string>& args) {
    return walk_words(args, *program_.root);
  }
  std::string error(const std::vector<std::string>& args) {
    const auto result = walk(args);
    EXPECT_FALSE(result);
    return result ? "" : result.error().message;
  }

  TestWorld world_;
  Program program_ = make_program(world_.context);
};

TEST_F(Words, OptionsStandBeforeTheCommandAndNeverAfter) {
  const auto result =
      walk({"submit", "-G2", "--time", "4h", "--hold", "--", "python", "--lr", "1"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->parsed.tail_kind, TailKind::kCommand);
  EXPECT_EQ(result->parsed.tail, (std::vector<std::string>{"python", "--lr", "1"}));
  ASSERT_EQ(result->parsed.options.size(), 3U);
  EXPECT_EQ(result->parsed.options[0].value, "2");
  EXPECT_EQ(result->parsed.options[1].value, "4h");
}

TEST_F(Words, TheFirstPlainWordBeginsTheScript) {
  const auto result = walk({"submit", "--gpus=1", "job.sh", "--gpsu", "--help"});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->parsed.tail_kind, TailKind::kFile);
  EXPECT_EQ(result->parsed.tail.size(), 3U);
  EXPECT_FALSE(result->help);
}

TEST_F(Words, ValuesMayLookLikeOptions) {
  const auto result = walk({"submit", "--priority", "-5", "-J", "--x", "--", "true"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->parsed.options[0].value, "-5");
  EXPECT_EQ(result->parsed.options[1].value, "--x");
}

TEST_F(Words, ShortOptionsInARow) {
  const auto result = walk({"logs", "-fn5", "7"});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->parsed.options.size(), 2U);
  EXPECT_EQ(result->parsed.options[1].value, "5");
}

TEST_F(Words, OptionalValuesStandBehindAnEqualsSign) {
  const auto result = walk({"submit", "--nice", "job.sh"});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->parsed.tail, std::vector<std::string>{"job.sh"});
  const auto given = walk({"submit", "--nice=7", "job.sh"});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->parsed.options[0].value, "7");
}

TEST_F(Words, WrongWordsNameTheNearest) {
  EXPECT_NE(error({"sumbit"}).find("did you mean 'rota submit'"), std::string::npos);
  EXPECT_NE(error({"queue", "sett"}).find("did you mean 'rota queue set'"), std::string::npos);
  EXPECT_NE(error({"squeue"}).find("use `rota ls`"), std::string::npos);
  EXPECT_NE(error({"submit", "--gpsu", "2"}).find("'--gpus'"), std::string::npos);
  EXPECT_NE(error({"ls", "--wacth"}).find("'--watch'"), std::string::npos);
  EXPECT_NE(error({"submit", "--gpus"}).find("needs a value"), std::string::npos);
  EXPECT_NE(error({"submit", "--hold=1", "--", "x"}).find("takes no value"), std::string::npos);
  EXPECT_NE(error({"ls", "7"}).find("unexpected word '7'"), std::string::npos);
  EXPECT_NE(error({"--json", "ls"}).find("options stand after the command"), std::string::npos);
}

TEST_F(Words, HelpIsOfTheCommandReached) {
  EXPECT_TRUE(walk({"--help"})->help);
  const auto inner = walk({"queue", "set", "-h"});
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->app->get_name(), "set");
}

TEST_F(Words, EveryCommandHasHelpWithItsOptions) {
  for (const CLI::App* app :
       program_.root->get_subcommands([](const CLI::App*) { return true; })) {
    const std::string help = command_help(*app);
    EXPECT_NE(help.find("usage: rota " + app->get_name()), std::string::npos);
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_group().empty() || option->get_positional()) continue;
      EXPECT_NE(help.find("--" + option->get_lnames().front()), std::string::npos)
          << app->get_name();
      EXPECT_FALSE(option->get_description().empty()) << option->get_name();
    }
    for (std::size_t at = 0, end = 0; at < help.size(); at = end + 1) {
      end = help.find('\n', at);
      EXPECT_LE(end - at, 100U) << help.substr(at, end - at);
    }
  }
  EXPECT_EQ(command_help(*program_.root->get_subcommand("submit")).find("--reservation"),
            std::string::npos);
}

TEST_F(Words, CompletionKnowsEveryCommandAndOption) {
  const std::string scripts[] = {bash_completion(*program_.root), zsh_completion(*program_.root),
                                 fish_completion(*program_.root)};
  for (const std::string& script : scripts) {
    for (const Command& command : commands()) {
      EXPECT_NE(script.find(command.name), std::string::npos) << command.name;
    }
    EXPECT_NE(script.find("min-runtime"), std::string::npos);
    EXPECT_EQ(script.find("reservation"), std::string::npos);
  }
}

TEST(Program, UsageErrorsEndWithTwo) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {}, {"nonsense"}, {"show"}, {"queue"}, {"submit", "--gpus", "x", "--", "true"},
           {"logs", "--rank", "-1", "7"}, {"completion", "tcsh"}, {"ls", "-o", "xml"}}) {
    TestWorld world;
    EXPECT_EQ(run_program(args, world.context), 2) << (args.empty() ? "" : args[0]);
    EXPECT_NE(world.err.str(), "");
    EXPECT_EQ(world.out.str(), "");
  }
}

TEST(Program, HelpAndVersionEndWithZero) {
  TestWorld world;
  EXPECT_EQ(run_program({"--help"}, world.context), 0);
  EXPECT_EQ(run_program({"submit", "-h"}, world.context), 0);
  EXPECT_EQ(run_program({"--version"}, world.context), 0);
  EXPECT_EQ(world.err.str(), "");
}

TEST(Program, WithoutADaemonEndsWithFive) {
  TestWorld world;
  EXPECT_EQ(run_program({"ls", "--socket", "/nonexistent/rota.sock"}, world.context), 5);
  EXPECT_NE(world.err.str().find("rota serve"), std::string::npos);
}

}  // namespace
}  // namespace rota::cli
