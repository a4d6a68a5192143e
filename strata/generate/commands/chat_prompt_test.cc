// The prompts of `generate --chat`, as a program, with templates of every origin.
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/generate/testing/run_generate.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A file with `content`, in the test's own folder.
std::string FileOf(const std::string& name, const std::string& content) {
  WriteFile(TestFile(name), content);
  return TestFile(name);
}

ProgramResult ShowPrompt(std::vector<std::string> flags) {
  flags.insert(flags.end(), {"--chat", "--show_prompt", "--prompt=Hi"});
  return RunGenerate(flags);
}

TEST(ChatPromptTest, IsShownAsTextInPlaceOfAnAnswer) {
  const ProgramResult result = ShowPrompt({"--system=Be brief."});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(ChatPromptTest, IsShownWithTheIdsOfTheRun) {
  const Json shown =
      GenerateJson({"--chat", "--show_prompt", "--prompt=Hi <|im_end|>", "--chat_format=chatml"});
  EXPECT_EQ(shown["prompt"], "<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(shown["prompt_ids"],
            GenerateJson({"--chat", "--prompt=Hi <|im_end|>", "--max_new=1"})["prompt_ids"]);
}

TEST(ChatPromptTest, OfAFileIsShownAsItIsRun) {
  const std::string path = FileOf("prompt.txt", "\xef\xbb\xbfHi\n");
  const std::vector<std::string> shown = {"--chat", "--show_prompt", "--prompt_file=" + path};
  EXPECT_EQ(RunGenerate(shown).out, ShowPrompt({}).out);
  FileOf("prompt.txt", std::string("\xff\xfeH\0", 4));
  const ProgramResult utf16 = RunGenerate(shown);
  EXPECT_EQ(utf16.exit_code, 2);
  EXPECT_THAT(utf16.err, HasSubstr("UTF-16"));
}

TEST(ChatPromptTest, IsShownBeforeEachAnswerOfAConversation) {
  const ProgramResult result =
      RunGenerate({"--chat", "--show_prompt", "--max_new=3"}, "Hello\nBye\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("<|im_start|>user\nHello<|im_end|>\n"));
  EXPECT_THAT(result.err, HasSubstr("<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("user\nHello")));
}

TEST(ChatPromptTest, ComesFromTheTemplateThatIsNamed) {
  const std::string path =
      FileOf("t.jinja",
             "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}\n"
             "{% endfor %}{{ 'think' if thinking else 'do not think' }}");
  EXPECT_EQ(ShowPrompt({"--chat_template=" + path, "--system=S"}).out,
            "<|endoftext|>[system] S\n[user] Hi\ndo not think");
  EXPECT_EQ(ShowPrompt({"--chat_template=" + path, "--template_args={\"thinking\": true}"}).out,
            "<|endoftext|>[user] Hi\nthink");
}

TEST(ChatPromptTest, TellsOfTools) {
  const std::string tools =
      FileOf("tools.json", R"([{"type": "function", "function": {"name": "f"}}])");
  const std::string path = FileOf(
      "tools.jinja", "{% for t in tools %}{{ t | tojson }}{% endfor %}{{ messages[0].content }}");
  EXPECT_EQ(ShowPrompt({"--chat_template=" + path, "--tools=" + tools}).out,
            R"({"type": "function", "function": {"name": "f"}}Hi)");
}

TEST(ChatPromptTest, WarnsOfMarksThatAreNoTokens) {
  EXPECT_THAT(ShowPrompt({"--chat_format=gemma"}).err, HasSubstr("<start_of_turn>"));
  EXPECT_EQ(ShowPrompt({"--chat_format=chatml"}).err, "");
}

struct Wrong {
  std::vector<std::string> flags;
  int exit_code;
  std::string message;  // A part of it.
};

TEST(ChatPromptTest, SaysWhatIsWrongAndWhoseFaultItIs) {
  const std::string refuses =
      FileOf("refuses.jinja",
             "{% if messages[0].role == 'system' %}{{ raise_exception('No system here!') }}"
             "{% endif %}{{ messages[0].content }}");
  const std::string cut = FileOf("cut.jinja", "\n{% if messages %}");
  const std::string object = FileOf("object.json", "{}");
  const std::string numbers = FileOf("numbers.json", "[1]");
  const std::string deep =
      FileOf("deep.json", "[{\"a\": " + std::string(200, '[') + std::string(200, ']') + "}]");
  const std::string large = FileOf("large.json", "[{\"a\": 18446744073709551615}]");
  const std::vector<Wrong> wrong = {
      {{"--chat_template=" + refuses, "--system=S"}, 2, "No system here!"},
      {{"--chat_template=" + refuses, "--system=S"}, 2, "template_refused"},
      {{"--chat_template=" + cut}, 2, "cut.jinja"},
      {{"--chat_template=" + TestFile("nowhere.jinja")}, 2, "nowhere.jinja"},
      {{"--chat_template=" + refuses, "--chat_format=chatml"}, 1, "exclude each other"},
      {{"--chat_format=vicuna"}, 1, "chatml, llama3"},
      {{"--tools=" + TestFile("nowhere.json")}, 2, "nowhere.json"},
      {{"--tools=" + refuses}, 2, "chat_tools"},
      {{"--tools=" + object}, 2, "chat_tools"},
      {{"--tools=" + numbers}, 2, "chat_tools"},
      {{"--tools=" + deep}, 2, "deep.json: JSON nested more than 100 deep [chat_tools]"},
      {{"--tools=" + large}, 2, "chat_tools"},
      {{"--template_args={"}, 1, "--template_args"},
      {{"--template_args=[]"}, 1, "--template_args"},
      {{"--template_args={\"messages\": []}"}, 1, "messages"},
  };
  for (const Wrong& one : wrong) {
    const ProgramResult result = ShowPrompt(one.flags);
    EXPECT_EQ(result.exit_code, one.exit_code) << one.message << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr(one.message));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(ShowPrompt({"--chat_template=" + refuses}).out, "Hi");
}

TEST(ChatPromptTest, IsFoundWrongBeforeTheModelIsOpened) {
  const std::vector<std::string> wrong = {
      "--template_args={",
      "--template_args={\"tools\": []}",
      "--template_args={\"a\": 18446744073709551615}",
      "--tools=" + FileOf("none.json", "7"),
      "--tools=" +
          FileOf("deep.json", "[{\"a\": " + std::string(200, '[') + std::string(200, ']') + "}]"),
      "--chat_template=" + FileOf("open.jinja", "{% for m in messages %}"),
      "--chat_format=vicuna"};
  const std::string nowhere = "--model=" + TestFile("nowhere.gguf");
  for (const std::string& flag : wrong) {
    for (const char* const mode : {"--prompt=Hi", "--show_prompt --prompt=Hi", ""}) {
      std::vector<std::string> flags = absl::StrSplit(mode, ' ', absl::SkipEmpty());
      flags.insert(flags.end(), {"--chat", nowhere, flag});
      const ProgramResult result = RunGenerate(flags);
      EXPECT_NE(result.exit_code, 0);
      EXPECT_THAT(result.err, Not(HasSubstr("nowhere.gguf"))) << flag << " " << mode;
    }
  }
}

TEST(ChatPromptTest, ItsFlagsWantAConversation) {
  for (const char* flag : {"--system=a", "--chat_template=a", "--chat_format=chatml", "--tools=a",
                           "--template_args={}", "--show_prompt"}) {
    const ProgramResult result = RunGenerate({"--prompt=a", flag});
    EXPECT_EQ(result.exit_code, 1) << flag;
    EXPECT_THAT(result.err, HasSubstr("--chat"));
  }
}

}  // namespace
}  // namespace strata
