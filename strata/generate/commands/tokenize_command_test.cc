// `generate --tokenize` and `--detokenize` as programs.
#include "strata/generate/commands/tokenize_command.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/generate/tokenizer/oracle_strings.h"

namespace strata {
namespace {

using testing::HasSubstr;

ProgramResult Generate(const std::vector<std::string>& flags, const std::string& input = "") {
  std::vector<std::string> command = {*Runfile("strata/generate/generate")};
  command.insert(command.end(), flags.begin(), flags.end());
  return RunProgram(command, {.input = input});
}

TEST(TokenizeCommandTest, AgreesWithTheOracleBothWays) {
  const std::string model = "--model=" + OracleVocabularyPath();
  int num_tried = 0;
  for (const OracleString& oracle : OracleStrings()) {
    if (oracle.is_taken_differently) continue;
    ++num_tried;
    SCOPED_TRACE(oracle.name);
    const std::string ids = absl::StrJoin(oracle.ids, " ");
    const ProgramResult parsed = Generate({model, "--tokenize=-", "--parse_special"}, oracle.text);
    ASSERT_EQ(parsed.exit_code, 0) << parsed.err;
    EXPECT_EQ(parsed.out, ids + "\n");
    if (oracle.ids_no_special != oracle.ids) {
      const ProgramResult plain = Generate({model, "--tokenize", "-"}, oracle.text);
      EXPECT_EQ(plain.out, absl::StrJoin(oracle.ids_no_special, " ") + "\n");
    }
    const ProgramResult text = Generate({model, "--detokenize=-"}, ids);
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_EQ(text.out, oracle.decoded);
  }
  EXPECT_EQ(num_tried, 151);
}

TEST(TokenizeCommandTest, PrintsOneObjectWithJson) {
  const std::string model = "--model=" + *Runfile("testdata/strata-tiny-q4_k_m.gguf");
  const ProgramResult ids = Generate({model, "--tokenize=-", "--json"}, "Hello world");
  EXPECT_EQ(nlohmann::json::parse(ids.out), nlohmann::json::parse(R"({"ids": [4399, 333, 4501]})"));
  const ProgramResult text = Generate({model, "--detokenize=-", "--json"}, " 4399\n333\t4501");
  EXPECT_EQ(nlohmann::json::parse(text.out), nlohmann::json::parse(R"({"text": "Hello world"})"));
}

TEST(TokenizeCommandTest, PrintsNoIdsForNoText) {
  const std::string model = "--model=" + OracleVocabularyPath();
  EXPECT_EQ(Generate({model, "--tokenize=-"}, "").out, "\n");
  EXPECT_EQ(Generate({model, "--detokenize=-"}, " \n").out, "");
}

TEST(TokenizeCommandTest, NamesWhatIsNoId) {
  const std::string model = "--model=" + OracleVocabularyPath();
  for (const char* word : {"x", "-1", "8192", "1.5", "99999999999"}) {
    const ProgramResult result =
        Generate({model, "--detokenize=-", "--json"}, std::string("5 ") + word);
    EXPECT_EQ(result.exit_code, 2);
    const nlohmann::json error = nlohmann::json::parse(result.out)["error"];
    EXPECT_EQ(error["kind"], "token_ids");
    EXPECT_EQ(error["file"], "stdin");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(word));
  }
}

TEST(TokenizeCommandTest, NamesAnUnknownSplitter) {
  GgufWriter writer;
  writer.Key("tokenizer.ggml.model", "gpt2");
  writer.Key("tokenizer.ggml.pre", "nobodys");
  writer.Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  writer.Key("tokenizer.ggml.merges", std::vector<std::string>{});
  const std::string path = testing::TempDir() + "nobodys.gguf";
  writer.WriteTo(path);
  const ProgramResult result = Generate({"--model=" + path, "--tokenize=-", "--json"}, "a");
  EXPECT_EQ(result.exit_code, 2);
  const nlohmann::json error = nlohmann::json::parse(result.out)["error"];
  EXPECT_EQ(error["kind"], "tokenizer_pre");
  EXPECT_EQ(error["file"], path);
  EXPECT_THAT(result.err, HasSubstr("nobodys"));
}

TEST(TokenizeCommandTest, SaysWhichFileItCannotRead) {
  const std::string model = "--model=" + OracleVocabularyPath();
  for (const char* path : {"/no/such/file", "/"}) {
    const ProgramResult result = Generate({model, std::string("--tokenize=") + path});
    EXPECT_EQ(result.exit_code, 2) << path;
    EXPECT_THAT(result.err, HasSubstr(path));
  }
  EXPECT_EQ(Generate({"--model=/no/such/file", "--tokenize=-"}).exit_code, 2);
}

TEST(TokenizeCommandTest, TakesTheModelOfTestdataByDefault) {
  EXPECT_EQ(Generate({"--tokenize=-"}, "Hello world").out, "4399 333 4501\n");
}

TEST(TokenizeCommandTest, FlagsOfGeneratingHaveNoEffectAndThatIsSaid) {
  const ProgramResult result =
      Generate({"--tokenize=-", "--max_new=5", "--temperature=1", "--json"}, "Hello world");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err,
            "--max_new has no effect: nothing is generated\n"
            "--temperature has no effect: nothing is generated\n");
}

TEST(TokenizeCommandTest, WantsOneMode) {
  const std::string model = "--model=" + OracleVocabularyPath();
  EXPECT_EQ(Generate({}).exit_code, 1);
  EXPECT_EQ(Generate({model}).exit_code, 1);
  EXPECT_EQ(Generate({model, "--tokenize=-", "--detokenize=-"}).exit_code, 1);
  EXPECT_EQ(Generate({model, "--detokenize=-", "--parse_special"}).exit_code, 1);
  EXPECT_EQ(Generate({model, "--tokenize=-", "text"}).exit_code, 1);
}

}  // namespace
}  // namespace strata
