// generate_benchmark as a program, on the small model of testdata: what it says, not how fast.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/generate/testing/run_generate.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// Of the file's tensors: attention and routers of the four layers before the NextN block, and the
// embedding, which is the output too. In a layer each expert has a sixteenth of the experts' bytes.
constexpr int64_t kDenseBytes = 2531584;
constexpr int64_t kExpertBytes = 11 * 589824 + 860160;
constexpr int kChosenOf16 = 2;

ProgramResult RunBenchmark(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {Runfile("strata/generate/generate_benchmark").value()};
  command.insert(command.end(), flags.begin(), flags.end());
  return RunProgram(command);
}

const std::vector<std::string> kSmall = {"--prompt_tokens=20", "--decode_tokens=5",
                                         "--repetitions=2", "--threads=1,3"};

Json SmallReport() {
  std::vector<std::string> flags = kSmall;
  flags.push_back("--json");
  const ProgramResult result = RunBenchmark(flags);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
}

TEST(GenerateBenchmarkTest, SaysWhatItRanOn) {
  const Json report = SmallReport();
  EXPECT_FALSE(report["cpu"].get<std::string>().empty());
  EXPECT_GT(report["cores"], 0);
  EXPECT_THAT(report["isa"], ::testing::AnyOf("scalar", "avx2", "avx512"));
  EXPECT_EQ(report["model"], "strata-tiny-q4_k_m.gguf");
  EXPECT_EQ(report["model_bytes"], 12482624);
  EXPECT_GT(report["bytes_by_type"]["Q4_K"], report["bytes_by_type"]["F32"]);
  EXPECT_EQ(report["prompt_tokens"], 20);
  EXPECT_EQ(report["decode_tokens"], 5);
  EXPECT_EQ(report["repetitions"], 2);
}

TEST(GenerateBenchmarkTest, CountsTheBytesOfEachStepAndRatesThem) {
  const Json report = SmallReport();
  ASSERT_EQ(report["results"].size(), 2);
  EXPECT_EQ(report["results"][0]["threads"], 1);
  EXPECT_EQ(report["results"][1]["threads"], 3);
  for (const Json& result : report["results"]) {
    EXPECT_EQ(result["decode_routed"], 5 * 4 * 2) << "tokens x layers x experts per token";
    EXPECT_EQ(result["decode_bytes"]["dense"], 5 * kDenseBytes);
    EXPECT_EQ(result["decode_bytes"]["experts"], 5 * kExpertBytes / 16 * kChosenOf16);
    for (const char* rate :
         {"prompt_tps", "decode_tps", "decode_gbps", "plain_read_gbps", "share_of_plain_read"}) {
      const Json& rates = result[rate];
      EXPECT_GT(rates["q1"], 0) << rate;
      EXPECT_LE(rates["q1"], rates["median"]) << rate;
      EXPECT_LE(rates["median"], rates["q3"]) << rate;
    }
  }
}

TEST(GenerateBenchmarkTest, PrintsTheSameAsATable) {
  const ProgramResult result = RunBenchmark(kSmall);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("strata-tiny-q4_k_m.gguf"));
  EXPECT_THAT(result.out, HasSubstr("20 tokens of prompt in batches of 128, then 5 tokens"));
  EXPECT_THAT(result.out, HasSubstr("plain read GB/s"));
}

TEST(GenerateBenchmarkTest, FlagsOfAnotherDeviceAreSaid) {
  std::vector<std::string> flags = kSmall;
  flags.insert(flags.end(), {"--depths=64", "--expert_cache=25%"});
  const ProgramResult result = RunBenchmark(flags);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--depths has no effect with --device cpu\n"));
  EXPECT_THAT(result.err, HasSubstr("--expert_cache has no effect with --device cpu\n"));
}

TEST(GenerateBenchmarkTest, RefusesATextThatIsTooShortAndThreadsThatAreNone) {
  const ProgramResult text = RunBenchmark({"--prompt_tokens=9999"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.err, HasSubstr("10127 are to be measured"));
  EXPECT_EQ(RunBenchmark({"--threads=2,none"}).exit_code, 1);
}

TEST(GenerateBenchmarkTest, InstalledAloneItAsksForAModel) {
  const std::string alone = TestFile("alone");
  std::filesystem::copy_file(Runfile("strata/generate/generate_benchmark").value(), alone,
                             std::filesystem::copy_options::overwrite_existing);
  const ProgramResult result = RunProgram({"/usr/bin/env", "-i", alone});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--model is missing"));
}

TEST(GenerateBenchmarkTest, TakesIdsInsteadOfText) {
  std::string ids;
  for (int i = 0; i < 7; ++i) ids += std::to_string(100 + i) + " ";
  WriteFile(TestFile("ids.txt"), ids);
  const ProgramResult result =
      RunBenchmark({"--tokens_file=" + TestFile("ids.txt"), "--prompt_tokens=4",
                    "--decode_tokens=3", "--repetitions=1", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"decode_tokens\": 3"));
}

}  // namespace
}  // namespace strata
