// `generate --chat` as a program, with lines of stdin for turns.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/generate/testing/run_generate.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The number behind `label` in the group "prompt" of --stats, for the nth answer; 0 without such a
// line.
int PromptStat(const std::string& err, const std::string& label, int answer) {
  size_t begin = 0;
  for (int i = 0; i <= answer; ++i) begin = err.find("prompt\n  ", begin + 1);
  EXPECT_NE(begin, std::string::npos) << err;
  const std::string group = err.substr(begin, err.find("\nanswer\n", begin) - begin);
  const size_t at = group.find("\n  " + label);
  return at == std::string::npos ? 0 : std::stoi(group.substr(at + 3 + label.size()));
}

TEST(ChatCommandTest, AnswersEachLineAndReusesTheTurnsBefore) {
  const ProgramResult result =
      RunGenerate({"--chat", "--max_new=20", "--stats"}, "Hello\nWho are you?\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out, "");
  EXPECT_THAT(result.err, Not(HasSubstr("> "))) << "no prompt sign without a terminal";
  EXPECT_EQ(PromptStat(result.err, "of them known before", 0), 0);
  EXPECT_GE(PromptStat(result.err, "of them known before", 1), PromptStat(result.err, "tokens", 0));
}

TEST(ChatCommandTest, TheFirstTurnIsTheAnswerOfASinglePrompt) {
  const std::string single =
      RunGenerate({"--chat", "--prompt=Hello", "--max_new=20", "--seed=3"}).out;
  EXPECT_EQ(RunGenerate({"--chat", "--max_new=20", "--seed=3"}, "Hello").out, single);
}

TEST(ChatCommandTest, ExitLeavesAndEmptyLinesAreNoTurns) {
  const ProgramResult result =
      RunGenerate({"--chat", "--max_new=5", "--stats"}, "\n  \n/exit\nHello\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(ChatCommandTest, ForgetsOldTurnsWhenTheContextIsFull) {
  const ProgramResult result = RunGenerate({"--chat", "--max_new=30", "--max_context=100"},
                                           "Hello\nTell me more\nAnd then?\nAnd now?\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the oldest turns are forgotten"));
}

TEST(ChatCommandTest, AMessageThatDoesNotFitIsLeftOutAndTheConversationStays) {
  const std::string words(400, 'x');
  const std::vector<std::string> flags = {"--chat", "--max_new=5", "--max_context=60", "--seed=3"};
  const ProgramResult result = RunGenerate(flags, "Hello\n" + words + "\nAnd then?\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("(that message is left out: it is longer than the context of "
                                    "60 tokens (--max_context))"));
  EXPECT_THAT(result.err, Not(HasSubstr("forgotten")));
  EXPECT_EQ(result.out, RunGenerate(flags, "Hello\nAnd then?\n").out)
      << "as if it had not been sent";
}

TEST(ChatCommandTest, HelpAndQuitAreNoMessages) {
  const ProgramResult result = RunGenerate({"--chat", "--max_new=5"}, "/help\n/hlep\n/quit\nHello");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("Ctrl-C  ends an answer"));
  EXPECT_THAT(result.err, HasSubstr("there is no command /hlep"));
  EXPECT_NE(RunGenerate({"--chat", "--max_new=5"}, "/etc/fstab looks odd").out, "");
}

TEST(ChatCommandTest, QuietLeavesTheAnswersAlone) {
  const ProgramResult result = RunGenerate({"--chat", "--max_new=5", "--quiet"}, "Hello\n");
  EXPECT_NE(result.out, "");
  EXPECT_EQ(result.err, "");
}

TEST(ChatCommandTest, AWrongTemplateIsFoundBeforeTheModelIsRead) {
  const ProgramResult result = RunGenerate({"--chat", "--chat_format=none"}, "Hello\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, Not(HasSubstr("experts: "))) << result.err;
}

// A template may write the past in another way: here it leaves answers out.
TEST(ChatCommandTest, ReusesWhatALaterPromptHasInCommonWithTheText) {
  WriteFile(TestFile("questions.jinja"),
            "{% for m in messages if m.role == 'user' %}<|im_start|>{{ m.content }}{% endfor %}");
  const ProgramResult result =
      RunGenerate({"--chat", "--chat_template=" + TestFile("questions.jinja"), "--max_new=20",
                   "--stats", "--temperature=0"},
                  "Hello\nWho are you?\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const int first = PromptStat(result.err, "tokens", 0);
  EXPECT_EQ(PromptStat(result.err, "of them known before", 1), first);
  EXPECT_GT(PromptStat(result.err, "tokens", 1), first);
}

TEST(ChatCommandTest, DrawsAnswersByARandomSeedThatItPrints) {
  const auto answer = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--chat", "--prompt=Hello", "--max_new=20"});
    return GenerateJson(flags);
  };
  const Json first = answer({});
  const std::string seed = first["stats"]["seed"].dump();
  EXPECT_EQ(answer({"--seed=" + seed})["ids"], first["ids"]);
  EXPECT_EQ(answer({"--seed=" + seed, "--temperature=0.7", "--top_p=0.95", "--min_p=0.05"})["ids"],
            first["ids"]);
  EXPECT_NE(answer({})["stats"]["seed"], first["stats"]["seed"]);
  const Json greedy = answer({"--temperature=0"});
  EXPECT_FALSE(greedy["stats"].contains("seed"));
  EXPECT_EQ(answer({"--temperature=0"})["ids"], greedy["ids"]);
  EXPECT_THAT(RunGenerate({"--chat", "--stats", "--seed=77", "--max_new=2"}, "Hello").err,
              HasSubstr("seed"));
}

}  // namespace
}  // namespace strata
