// gguf_inspect --plan as a program, and what generate then really allocates.
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

std::string Tiny() { return Runfile("testdata/strata-tiny-q4_k_m.gguf").value(); }

ProgramResult RunTool(const char* program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), Runfile(program).value());
  return RunProgram(arguments);
}

ProgramResult Plan(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {Tiny(), "--plan"});
  return RunTool("strata/tools/gguf_inspect", arguments);
}

Json PlanJson(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const ProgramResult result = Plan(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

void ExpectWithinFivePercent(const Json& planned, const Json& allocated) {
  EXPECT_NEAR(planned.get<double>(), allocated.get<double>(), 0.05 * allocated.get<double>());
}

TEST(PlanCommandTest, AgreesWithWhatGenerateAllocates) {
  for (const char* kv : {"f32", "int8"}) {
    const Json plan =
        PlanJson({"--vram=18MiB", "--vram_reserve=8MiB", "--ram=1GiB", "--context=128",
                  "--device=cpu", "--prompt_batch=32", absl::StrCat("--kv=", kv)});
    const int slots = plan["vram"]["slots"];
    ASSERT_GT(slots, 5);
    ASSERT_LT(slots, 64);
    const ProgramResult result = RunTool(
        "strata/generate/generate",
        {"--model=" + Tiny(),
         absl::StrCat("--prompt_file=", Runfile("testdata/benchmark_text.txt").value()), "--json",
         "--max_new=1", absl::StrCat("--expert_cache=", slots), "--expert_source=registered",
         "--device=cpu", "--prompt_batch=32", absl::StrCat("--kv=", kv), "--stats"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json stats = Json::parse(result.out)["stats"];
    const Json whole_context = PlanJson(
        {"--vram=18MiB", "--vram_reserve=8MiB", "--ram=1GiB", "--device=cpu", "--prompt_batch=32",
         absl::StrCat("--context=", stats["prompt_tokens"].get<int>()), absl::StrCat("--kv=", kv)});
    EXPECT_EQ(stats["slots"], slots);
    ExpectWithinFivePercent(plan["vram"]["slot_bytes"], stats["slot_bytes"]);
    ExpectWithinFivePercent(whole_context["vram"]["kv_bytes"], stats["kv_bytes"]);
    ExpectWithinFivePercent(plan["vram"]["workspace_bytes"], stats["workspace_bytes"]);
    ExpectWithinFivePercent(plan["ram"]["pinned_bytes"], stats["pinned_bytes"]);
  }
}

TEST(PlanCommandTest, AgreesOnEachKindOfState) {
  const std::string tokens = testing::TempDir() + "/tokens";
  std::ofstream file(tokens);
  for (int i = 0; i < 300; ++i) file << i % 256 << ' ';
  file.close();
  // Room for two snapshots of each; a text of 300 tokens would make three.
  for (const auto& [name, snapshot_memory] :
       {std::pair("qwen35moe", "90000"), std::pair("lfm2moe", "2500"), std::pair("gpt-oss", "9"),
        std::pair("gemma4", "9")}) {
    SCOPED_TRACE(name);
    const std::string model =
        Runfile(absl::StrCat("testdata/oracles/arch/", name, ".gguf")).value();
    const std::string snapshots = absl::StrCat("--snapshot_memory=", snapshot_memory);
    const ProgramResult planned =
        RunTool("strata/tools/gguf_inspect",
                {model, "--plan", "--vram=64MiB", "--vram_reserve=8MiB", "--ram=1GiB", "--kv=f16",
                 "--context=300", snapshots, "--json"});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    const Json plan = Json::parse(planned.out);
    const ProgramResult result =
        RunTool("strata/generate/generate", {"--model=" + model, "--tokens_file=" + tokens,
                                             "--max_new=1", "--kv=f16", snapshots, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json stats = Json::parse(result.out)["stats"];
    ExpectWithinFivePercent(plan["vram"]["kv_bytes"], stats["kv_bytes"]);
    ExpectWithinFivePercent(plan["vram"]["recurrent_bytes"], stats["recurrent_bytes"]);
    ExpectWithinFivePercent(plan["ram"]["snapshot_bytes"], stats["snapshot_bytes"]);
    EXPECT_EQ(stats["recurrent_bytes"] > 0, std::string(snapshot_memory) != "9");
    EXPECT_EQ(stats["snapshot_bytes"], stats["recurrent_bytes"]);  // Two states each.
  }
}

TEST(PlanCommandTest, ForetellsACacheOfCompressedRows) {
  const std::string model = Runfile("testdata/oracles/arch/deepseek2.gguf").value();
  const std::string ids = testing::TempDir() + "/ids";
  {
    std::ofstream out(ids);
    for (int i = 0; i < 120; ++i) out << i << " ";
  }
  for (const char* kv : {"f32", "f16"}) {
    const ProgramResult planned =
        RunTool("strata/tools/gguf_inspect",
                {model, "--plan", "--json", "--vram=18MiB", "--vram_reserve=8MiB", "--ram=1GiB",
                 "--context=120", "--device=cpu", "--prompt_batch=32", absl::StrCat("--kv=", kv)});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    const ProgramResult result =
        RunTool("strata/generate/generate",
                {"--model=" + model, "--tokens_file=" + ids, "--json", "--max_new=1",
                 "--device=cpu", "--prompt_batch=32", absl::StrCat("--kv=", kv), "--stats"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json vram = Json::parse(planned.out)["vram"];
    const Json stats = Json::parse(result.out)["stats"];
    ExpectWithinFivePercent(vram["kv_bytes"], stats["kv_bytes"]);
    ExpectWithinFivePercent(vram["workspace_bytes"], stats["workspace_bytes"]);
  }
}

TEST(PlanCommandTest, TellsPeopleWhatGoesWhere) {
  const ProgramResult result =
      Plan({"--device=cpu", "--vram=24MiB", "--vram_reserve=8MiB", "--ram=1GiB"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* words : {"expert slots", "KV cache", "pinned experts", "expected hit rate",
                            "no profile", "tokens/s at most", "the tightest is the"}) {
    EXPECT_THAT(result.out, HasSubstr(words));
  }
}

// Where kernels on a GPU run the model, and this build has them, the workspace is theirs: it grows
// with the batch of a prompt, which is 4096 unless told otherwise.
TEST(PlanCommandTest, CountsTheWorkspaceOfTheDevice) {
  const std::vector<std::string> machine = {"--vram=1GiB", "--ram=1GiB"};
  const auto workspace = [&](std::vector<std::string> flags) -> Json {
    flags.insert(flags.end(), machine.begin(), machine.end());
    return PlanJson(flags);
  };
  const Json cpu = workspace({"--device=cpu"});
  EXPECT_EQ(cpu["prompt_batch"], 128);
  const ProgramResult asked = Plan({"--device=cuda", "--vram=1GiB", "--ram=1GiB", "--json"});
  if (asked.exit_code != 0) {
    EXPECT_THAT(asked.out, HasSubstr("without a CUDA toolkit"));
    EXPECT_EQ(workspace({}), cpu);
    return;
  }
  const Json cuda = Json::parse(asked.out);
  EXPECT_EQ(workspace({}), cuda);
  EXPECT_EQ(cuda["prompt_batch"], 4096);
  EXPECT_EQ(workspace({"--prompt_batch=4096"}), cuda);
  const int64_t bytes = cuda["vram"]["workspace_bytes"];
  EXPECT_GT(bytes, 4 * workspace({"--prompt_batch=512"})["vram"]["workspace_bytes"].get<int64_t>());
  EXPECT_NE(cpu["vram"]["workspace_bytes"], cuda["vram"]["workspace_bytes"]);
  EXPECT_EQ(Plan({"--device=tpu", "--vram=1GiB", "--ram=1GiB"}).exit_code, 1);
}

TEST(PlanCommandTest, CountsTheLargestBatchAndContext) {
  for (const char* device : {"--device=cpu", "--device=auto"}) {
    const auto workspace = [&](const char* tokens) -> int64_t {
      const ProgramResult result =
          Plan({"--vram=1GiB", "--ram=1GiB", device, absl::StrCat("--context=", tokens),
                absl::StrCat("--prompt_batch=", tokens), "--json"});
      EXPECT_EQ(result.exit_code, 3) << "it does not fit";
      return Json::parse(result.out)["vram"]["workspace_bytes"];
    };
    EXPECT_GE(workspace("2147483647"), workspace("2147483600")) << device;
    EXPECT_GT(workspace("2147483600"), workspace("1000000000")) << device;
  }
}

TEST(PlanCommandTest, IsForTheCpuWhereNoKernelRunsTheModel) {
  const std::string model = Runfile("testdata/oracles/arch/deepseek2.gguf").value();
  const auto plan = [&](const char* device) {
    return RunTool("strata/tools/gguf_inspect",
                   {model, "--plan", "--json", "--vram=1GiB", "--ram=1GiB", device});
  };
  EXPECT_EQ(plan("--device=cuda").exit_code, 3);
  EXPECT_EQ(plan("--device=auto").out, plan("--device=cpu").out);
  EXPECT_EQ(Json::parse(plan("--device=cuda").out)["error"]["exit_code"], 3);
  EXPECT_EQ(plan("--device=auto").exit_code, 0);
}

TEST(PlanCommandTest, AModelThatDoesNotFitIsTheMachinesFaultAndHasAPlan) {
  const ProgramResult result = Plan({"--vram=4MiB", "--ram=1GiB"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("it does not fit"));
  EXPECT_THAT(result.out, HasSubstr("dense weights"));
  const Json plan = Json::parse(Plan({"--vram=4MiB", "--ram=1GiB", "--json"}).out);
  EXPECT_EQ(plan["fits"], false);
  EXPECT_EQ(plan["error"]["kind"], "machine");
  EXPECT_EQ(plan["error"]["message"], plan["shortage"]);
}

TEST(PlanCommandTest, NoReserveIsTooLargeToBeCounted) {
  for (const char* vram : {"--vram=12GiB", "--vram=9223372036854775807"}) {
    const ProgramResult result = Plan({vram, "--ram=1GiB", "--vram_reserve=9223372036854775807"});
    EXPECT_EQ(result.exit_code, 3) << result.out;
    EXPECT_THAT(result.err, HasSubstr("it does not fit"));
  }
}

TEST(PlanCommandTest, SaysWhatIsNotAsItWasAsked) {
  const std::vector<std::string> machine = {"--vram=1GiB", "--ram=1GiB", "--device=cpu"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), machine.begin(), machine.end());
    return Plan(flags);
  };
  EXPECT_EQ(with({}).err, "");
  EXPECT_THAT(with({"--context=5000"}).err, HasSubstr("more than the 4096 that the model was"));
  const ProgramResult batch = with({"--context=100", "--prompt_batch=500"});
  EXPECT_THAT(batch.err, HasSubstr("100 tokens at once"));
  EXPECT_THAT(batch.out, HasSubstr("in batches of 100"));
  EXPECT_THAT(with({"--vram=12"}).err, HasSubstr("is 12 bytes, hardly what is meant"));
}

TEST(PlanCommandTest, NamesTheDeviceItIsFor) {
  const std::string model = Runfile("testdata/oracles/arch/deepseek2.gguf").value();
  const ProgramResult result =
      RunTool("strata/tools/gguf_inspect", {model, "--plan", "--vram=1GiB", "--ram=1GiB"});
  EXPECT_THAT(result.out, ::testing::StartsWith("for kernels of the CPU (--device cpu): "))
      << "with the reason";
  EXPECT_EQ(PlanJson({"--vram=1GiB", "--ram=1GiB", "--device=cpu"})["device"], "cpu");
}

TEST(PlanCommandTest, AProfileGivesTheHitRateToExpect) {
  const std::string profile = testing::TempDir() + "/profile";
  const ProgramResult built =
      RunTool("strata/tools/profile_build", {"build", "--model", Tiny(), "--out", profile,
                                             Runfile("testdata/benchmark_text.txt").value()});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const std::vector<std::string> machine = {"--device=cpu", "--vram=24MiB", "--vram_reserve=8MiB",
                                            "--ram=1GiB"};
  const Json without = PlanJson(machine);
  std::vector<std::string> with = machine;
  with.push_back("--profile=" + profile);
  EXPECT_EQ(PlanJson(with)["profile"], true);
  EXPECT_GT(PlanJson(with)["hit_rate"], without["hit_rate"]);
}

TEST(PlanCommandTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(Plan({"--vram=4MiB"}).exit_code, 1);
  EXPECT_EQ(Plan({"--vram=4MiB", "--ram=x"}).exit_code, 1);
  EXPECT_EQ(Plan({"--vram=4MiB", "--ram=4MiB", "--kv=f64"}).exit_code, 1);
  EXPECT_EQ(Plan({"--vram=4MiB", "--ram=4MiB", "--link_gbps=0"}).exit_code, 1);
  EXPECT_EQ(Plan({"--vram=4MiB", "--ram=4MiB", "--tensors"}).exit_code, 1);
  EXPECT_EQ(RunTool("strata/tools/gguf_inspect", {Tiny(), "--vram=4MiB"}).exit_code, 1);
  EXPECT_EQ(Plan({"--vram=4MiB", "--ram=4MiB", "--profile=" + Tiny()}).exit_code, 2);
}

}  // namespace
}  // namespace strata
