// gguf_inspect as a program, over every file of testdata/cases: exit code, kind, facts, and what it
// may use of time and memory.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/gguf/gguf_cases.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/utf8.h"
#include "strata/generate/testing/random_model.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using ::nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCostsAreOurs = false;  // A sanitizer's own time and memory say nothing.
#else
constexpr bool kCostsAreOurs = true;
#endif

std::string Tiny() { return Runfile("testdata/strata-tiny-q4_k_m.gguf").value(); }

ProgramResult Inspect(std::vector<std::string> arguments, const ProgramOptions& options = {}) {
  arguments.insert(arguments.begin(), Runfile("strata/tools/gguf_inspect").value());
  return RunProgram(arguments, options);
}

void ExpectRefusal(const ProgramResult& result, const json& test_case) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  const json error = json::parse(result.out, nullptr, /*allow_exceptions=*/false)["error"];
  EXPECT_TRUE(IsCaseKind(error["kind"].get<std::string>(), test_case["reject_kind"])) << error;
  EXPECT_NE(error["message"], "");
  EXPECT_NE(error["file"], "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

// What the model's part of the output must be: a broken model has no "moe" and says why.
void ExpectModel(const json& ours, const json& test_case) {
  if (test_case["expect_model"] == "accept") {
    EXPECT_FALSE(ours.contains("model_error")) << ours["model_error"];
  }
  if (test_case["expect_model"] == "reject") {
    ASSERT_TRUE(ours.contains("model_error"));
    EXPECT_TRUE(
        IsCaseKind(ours["model_error"]["kind"].get<std::string>(), test_case["model_reject_kind"]))
        << ours["model_error"];
    const bool is_of_the_tokenizer =
        ours["model_error"]["kind"].get<std::string>().rfind("tokenizer", 0) == 0;
    EXPECT_TRUE(ours["moe"].is_null() || is_of_the_tokenizer) << "what is known is shown";
    EXPECT_EQ(ours["generate"]["runs"], false);
  }
}

void ExpectFacts(json ours, const json& test_case) {
  if (!test_case.contains("facts") || test_case["facts"].is_null()) return;
  for (const auto& [field, value] : test_case["facts"].items()) {
    if (field == "note" || field == "tensor_values") continue;
    json expected = value;
    if (field == "moe") {
      expected.erase("note");
      ours["moe"].erase("blob_bytes");
      ours["moe"].erase("nextn_layers");
    }
    EXPECT_TRUE(ours[field] == expected) << field << " is " << ours[field].dump().substr(0, 1000);
  }
}

bool IsSafeForATerminal(const std::string& text) {
  return IsUtf8(text) && std::all_of(text.begin(), text.end(),
                                     [](char c) { return c == '\n' || !absl::ascii_iscntrl(c); });
}

TEST(GgufInspectTest, EveryCaseIsAnsweredRightWithinItsLimits) {
  const std::vector<GgufCase> cases = AllGgufCases();
  for (const GgufCase& test_case : cases) {
    SCOPED_TRACE(test_case.name());
    const json& facts = test_case.facts;
    const ProgramResult result = Inspect({"--json", "--sha256", test_case.path});
    ASSERT_EQ(result.signal, 0) << result.err;
    if (kCostsAreOurs) {
      EXPECT_LE(result.cpu_seconds, facts["limits"]["seconds"]);
      EXPECT_LE(result.peak_kib / 1024, facts["limits"]["rss_mib"]);
    }
    if (facts["expect"] == "reject" || (facts["expect"] == "either" && result.exit_code != 0)) {
      ExpectRefusal(result, facts);
      continue;
    }
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json ours = json::parse(result.out);
    ExpectModel(ours, facts);
    ExpectFacts(ours, facts);
  }
  std::cout << "cases tried: " << cases.size() << std::endl;
  EXPECT_EQ(cases.size(), 122u);
}

TEST(GgufInspectTest, TextIsSafeForATerminalWhateverTheFile) {
  for (const GgufCase& test_case : AllGgufCases()) {
    SCOPED_TRACE(test_case.name());
    const ProgramResult result = Inspect({test_case.path, "--metadata", "--tensors"});
    EXPECT_THAT(result.exit_code, AnyOf(0, 2)) << result.err;
    EXPECT_TRUE(IsSafeForATerminal(result.out));
    EXPECT_TRUE(IsSafeForATerminal(result.err)) << result.err;
    EXPECT_LT(result.out.size(), 8u << 20);
  }
}

TEST(GgufInspectTest, StrictRefusesWhatIsNoModel) {
  const std::string path = GgufCasePath("moe_used_above_count.gguf");
  EXPECT_EQ(Inspect({path}).exit_code, 0);
  const ProgramResult strict = Inspect({path, "--strict", "--json"});
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_EQ(json::parse(strict.out)["error"]["kind"], "moe_counts");
  EXPECT_EQ(Inspect({Tiny(), "--strict"}).exit_code, 0);
}

TEST(GgufInspectTest, KeysBeyondAsciiAreAWarningAndStrictlyAnError) {
  const std::string path = ::testing::TempDir() + "/keys.gguf";
  std::ofstream(path, std::ios::binary) << GgufWriter().Key("caf\xc3\xa9", uint32_t{1}).Build();
  const ProgramResult result = Inspect({path});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "warning: " + path + ": key 'caf\xc3\xa9' is not ASCII\n");
  const ProgramResult strict = Inspect({path, "--strict"});
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_THAT(strict.err, HasSubstr("[bad_key]"));
}

TEST(GgufInspectTest, SaysWhetherGenerateRunsTheFile) {
  EXPECT_EQ(json::parse(Inspect({Tiny(), "--json"}).out)["generate"]["runs"], true);
  const std::string mimo = RandomModel{.architecture = "mimo2"}.Write("mimo");
  const json unknown = json::parse(Inspect({mimo, "--json"}).out)["generate"];
  EXPECT_EQ(unknown["runs"], false);
  EXPECT_EQ(unknown["why_not"]["kind"], "unsupported_arch");
  EXPECT_THAT(Inspect({mimo}).out, HasSubstr("\ngenerate      cannot run it: "));
}

// Of families whose metadata can be read, only those that run are named to somebody whose file does
// not run.
TEST(GgufInspectTest, NamesTheFamiliesThatRun) {
  const std::string path = RandomModel{.architecture = "nobodys"}.Write("nobodys");
  const json inspection = json::parse(Inspect({path, "--json"}).out);
  for (const json& reason : {inspection["model_error"], inspection["generate"]["why_not"]}) {
    const std::string message = reason["message"];
    EXPECT_THAT(message, ::testing::Not(HasSubstr("mimo2"))) << "it can be read alone";
  }
  EXPECT_THAT(inspection["generate"]["why_not"]["message"].get<std::string>(),
              HasSubstr("qwen3moe"));
}

TEST(GgufInspectTest, JsonHasBlobBytesAndParameters) {
  const json inspection = json::parse(Inspect({Tiny(), "--json"}).out);
  EXPECT_EQ(inspection["moe"]["blob_bytes"],
            json({{"min", 110592}, {"max", 127488}, {"total", 7348224}}));
  EXPECT_EQ(inspection["moe"]["layers"], json({0, 1, 2, 3}));
  EXPECT_GT(inspection["params"]["total"], inspection["params"]["active"]);
  EXPECT_FALSE(inspection.contains("model_error"));
  EXPECT_FALSE(inspection["tensors"][0].contains("sha256"));
}

TEST(GgufInspectTest, RelativePathsAreTheUsers) {
  const fs::path model = Tiny();
  const ProgramResult result = Inspect(
      {model.filename()},
      {.environment = {absl::StrCat("BUILD_WORKING_DIRECTORY=", model.parent_path().string())}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("strata-tiny"));
}

TEST(GgufInspectTest, WrongCommandLinesAndPathsAreSaidClearly) {
  EXPECT_EQ(Inspect({}).exit_code, 1);
  EXPECT_EQ(Inspect({Tiny(), Tiny()}).exit_code, 1);
  EXPECT_EQ(Inspect({Tiny(), "--tensor"}).exit_code, 1);
  for (const std::string& path : {std::string("/no/such/file.gguf"), std::string("/tmp"),
                                  std::string("/dev/null"), std::string("")}) {
    const ProgramResult result = Inspect({path, "--json"});
    EXPECT_EQ(result.exit_code, 2) << path << result.err;
    EXPECT_EQ(json::parse(result.out)["error"]["kind"], "io") << path;
    EXPECT_EQ(json::parse(result.out)["error"]["file"], path);
  }
  EXPECT_THAT(Inspect({"--help"}).err, IsEmpty());
}

}  // namespace
}  // namespace strata
