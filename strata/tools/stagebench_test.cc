// stagebench as a program, on the device that stands in for a GPU: it moves real bytes and checks
// them; its figures mean nothing here.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

ProgramResult Stagebench(std::vector<std::string> arguments, const ProgramOptions& options = {}) {
  arguments.insert(arguments.begin(), Runfile("strata/tools/stagebench").value());
  return RunProgram(arguments, options);
}

std::string Tiny() { return Runfile("testdata/strata-tiny-q4_k_m.gguf").value(); }

const json* Find(const json& output, const std::string& experiment, const std::string& arm) {
  for (const json& measurement : output["measurements"]) {
    const std::string name = measurement["experiment"];
    if (name.rfind(experiment, 0) == 0 && measurement["arm"] == arm) return &measurement;
  }
  return nullptr;
}

TEST(StagebenchTest, MovesAModelsExpertsAndChecksEverySlot) {
  const ProgramResult result = Stagebench(
      {"--model", Tiny(), "--device=cpu", "--quick", "--verify", "--json", "--copy_bytes=64KiB"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json output = json::parse(result.out);
  EXPECT_FALSE(output["is_gpu"]);
  for (const char* job : {"cache fill", "refill of lent slots", "swap round", "one blob"}) {
    for (const char* arm : {"reference", "stages", "default"}) {
      const json* measurement = Find(output, job, arm);
      ASSERT_NE(measurement, nullptr) << job << ", " << arm;
      EXPECT_GT((*measurement)["notes"]["slots_verified"], 0);
      EXPECT_GT((*measurement)["figures"]["total_ms"]["median"], 0);
    }
  }
  // 4 layers of 16 experts: all of them are filled.
  EXPECT_NE(Find(output, "cache fill (64)", "default"), nullptr);
}

TEST(StagebenchTest, MakesAModelWhenNoneIsGivenAndLeavesNothingBehind) {
  const std::string folder = testing::TempDir() + "/stagebench_test";
  ASSERT_EQ(RunProgram({"/bin/mkdir", "-p", folder}).exit_code, 0);
  const ProgramResult result =
      Stagebench({"--synthetic=2x8x64KiB", "--device=cpu", "--quick", "--arms=jobs", "--json"},
                 {.environment = {"TMPDIR=" + folder}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(Find(json::parse(result.out), "cache fill (16)", "reference"), nullptr);
  EXPECT_EQ(RunProgram({"/bin/ls", folder}).out, "");
}

TEST(StagebenchTest, SaysThatTheFiguresAreNotOfAGpu) {
  const ProgramResult result = Stagebench(
      {"--synthetic=1x4x16KiB", "--device=cpu", "--quick", "--arms=pinning", "--copy_bytes=16KiB"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("not figures of a GPU"));
  EXPECT_THAT(result.out, HasSubstr("a driver call per buffer"));
}

TEST(StagebenchTest, WhatTheMachineLacksIsSaidAndEndsNothing) {
  const std::vector<std::string> small = {"--synthetic=1x4x16KiB", "--device=cpu", "--quick",
                                          "--arms=pinning", "--copy_bytes=16KiB"};
  for (const char* folder : {"/no/such/folder", "/etc/passwd"}) {
    const ProgramResult result =
        Stagebench(small, {.environment = {std::string("TMPDIR=") + folder}});
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_THAT(result.err, HasSubstr(folder));
    EXPECT_THAT(result.err, HasSubstr("TMPDIR"));
  }
  const ProgramResult huge = Stagebench({"--synthetic=1x1x16TiB", "--device=cpu", "--quick"});
  EXPECT_EQ(huge.exit_code, 3);
  EXPECT_THAT(huge.err, HasSubstr("are needed"));
}

TEST(StagebenchTest, APinBudgetOfNothingStillMovesEveryByte) {
  const ProgramResult result = Stagebench(
      {"--model", Tiny(), "--device=cpu", "--quick", "--arms=jobs", "--verify", "--pin_budget=0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("pageable"));
}

TEST(StagebenchTest, WrongCommandLinesAreRefused) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--arms=copys"},
                                             {"--arms=,"},
                                             {"--device=gpu"},
                                             {"--synthetic=3x4"},
                                             {"--stage_memory=paged"},
                                             {"--copy_bytes=8"},
                                             {"--readers=-1"},
                                             {"--readers=1000"},
                                             {"--slots=2147483647"},
                                             {"--copy_bytes=1GiB"},
                                             {"--arms=copies", "--verify"},
                                             {"model.gguf"},
                                             {"--model=a", "--synthetic=1x1x1"}}) {
    std::vector<std::string> arguments = wrong;
    if (wrong[0] != "--device=gpu") arguments.push_back("--device=cpu");
    EXPECT_EQ(Stagebench(arguments).exit_code, 1) << wrong[0];
  }
  EXPECT_EQ(Stagebench({"--model=/no/such.gguf", "--device=cpu"}).exit_code, 2);
}

}  // namespace
}  // namespace strata
