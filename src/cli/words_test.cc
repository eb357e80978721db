#include "cli/words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "cli/app.h"
#include "cli/completion.h"
#include "cli/directives.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/submission.h"
#include "cli/submit_options.h"
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

TEST_F(Words, AnEmptyArgumentNamesNothing) {
  EXPECT_EQ(error({"cancel", ""}), "an argument is empty; see `rota cancel --help`");
  EXPECT_EQ(error({"queue", "set", ""}), "an argument is empty; see `rota queue set --help`");
  EXPECT_EQ(error({"show", "7", "--", ""}), "an argument is empty; see `rota show --help`");
}

TEST_F(Words, AnEmptyValueIsNoValueOfAnOfflineOption) {
  EXPECT_EQ(error({"report", "usage", "--month", ""}),
            "option '--month' has an empty value; leave it out, or give it YYYY-MM");
  EXPECT_EQ(error({"audit", "--on="}),
            "option '--on' has an empty value; leave it out, or give it CLUSTER");
  EXPECT_EQ(error({"import", "-o", ""}).substr(0, 30), "option '-o' has an empty value");
  EXPECT_TRUE(walk({"submit", "--name", "", "--", "x"}));
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

TEST_F(Words, HelpTakesACommandsName) {
  for (const auto& args : {std::vector<std::string>{"help"}, {"help", "submit"},
                           {"help", "queue", "set"}}) {
    const auto result = walk(args);
    ASSERT_TRUE(result) << args.back();
    EXPECT_TRUE(result->help);
    EXPECT_EQ(result->app->get_name(), args.size() == 1 ? "rota" : args.back());
  }
  EXPECT_NE(error({"help", "sbmit"}).find("did you mean 'rota submit'"), std::string::npos);
  EXPECT_NE(error({"help", "ls", "x"}).find("unexpected word 'x'"), std::string::npos);
}

TEST_F(Words, OtherSystemsCommandsHaveAHint) {
  for (const char* word : {"sstat", "sreport", "sacctmgr", "seff", "squeue"}) {
    EXPECT_NE(error({word}).find("use `rota "), std::string::npos) << word;
  }
}

TEST_F(Words, RunPointsToSubmitForManyJobs) {
  EXPECT_NE(error({"run", "--array", "1-3", "--", "true"}).find("use `rota submit`"),
            std::string::npos);
}

/// The words of one example; what a shell makes of >, && and <( ends it.
std::vector<std::string> example_words(std::string_view line) {
  std::vector<std::string> words;
  const auto split = split_words(line, 1);
  if (!split) return words;
  for (const Word& word : *split) {
    if (word.text == ">" || word.text == "&&" || word.text == "|") break;
    words.push_back(word.text.ends_with(")") ? word.text.substr(0, word.text.size() - 1)
                                             : word.text);
  }
  return words;
}

TEST_F(Words, EveryExampleOfTheHelpCanBeTyped) {
  for (const Command& command : commands()) {
    std::string text(command.examples);
    for (std::size_t at; (at = text.find("\\\n")) != std::string::npos;) text.erase(at, 2);
    for (const std::string_view line : split(text, '\n')) {
      if (line.empty()) continue;
      const std::size_t start = line.find("rota ");
      ASSERT_NE(start, std::string_view::npos) << line;
      std::vector<std::string> words = example_words(line.substr(start));
      words.erase(words.begin());
      const auto result = walk(words);
      ASSERT_TRUE(result) << line << ": " << result.error().message;
      if (command.takes_tail && result->parsed.tail_kind == TailKind::kFile) {
        EXPECT_TRUE(result->parsed.tail.front().ends_with(".sh")) << line << ": no script";
      }
      Program program = make_program(world_.context);
      std::vector<std::string> parsed = result->words;
      std::reverse(parsed.begin(), parsed.end());
      EXPECT_NO_THROW(program.root->parse(parsed)) << line;
      if (command.takes_tail && result->parsed.tail_kind == TailKind::kCommand) {
        const auto draft = make_draft(result->parsed, kOnBoth, world_.context);
        EXPECT_TRUE(draft) << line << ": " << draft.error().message;
      }
    }
  }
}

TEST_F(Words, HelpNamesTheFormatsThatACommandHas) {
  const auto help = [&](const std::string& name) {
    return command_help(*program_.root->get_subcommand(name));
  };
  EXPECT_NE(help("sim").find("table|json "), std::string::npos) << help("sim");
  EXPECT_NE(help("replay").find("table|json|yaml\n"), std::string::npos);
  EXPECT_NE(help("version").find("table|json|yaml\n"), std::string::npos);
  EXPECT_NE(help("ls").find("table|wide|json|yaml|csv|name"), std::string::npos);
  OutputOptions output{.formats = "table|json|yaml", .format_text = "csv"};
  EXPECT_EQ(output.format().error().message,
            "unknown output format 'csv'; expected table, json or yaml");
}

}  // namespace
}  // namespace rota::cli
