#include "strata/core/cli/command_line.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

DEFINE_bool(adapt_cache, true, "A boolean of this test.");
DEFINE_int32(num_slots, 0, "A number of this test.");
DEFINE_string(expert_cache, "auto", "A string of this test.");

namespace strata {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Normalized(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tool");
  return NormalizedFlags(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLineTest, DashesInNamesAreUnderscores) {
  EXPECT_THAT(Normalized({"--expert-cache=a-b", "-expert-cache", "a-b"}),
              ElementsAre("tool", "--expert_cache=a-b", "-expert_cache", "a-b"));
}

TEST(CommandLineTest, NoTurnsABooleanOff) {
  EXPECT_THAT(Normalized({"--no-adapt-cache", "--no-such-thing"}),
              ElementsAre("tool", "--noadapt_cache", "--no_such_thing"));
}

TEST(CommandLineTest, LeavesArgumentsAlone) {
  EXPECT_THAT(Normalized({"my-model.gguf", "-", "-5", "--", "--keep-me"}),
              ElementsAre("tool", "my-model.gguf", "-", "-5", "--", "--keep-me"));
}

TEST(CommandLineTest, AsksForHelpBeforeTheEndOfFlags) {
  EXPECT_EQ(WhatIsAsked({"tool", "x", "--help"}), Asked::kHelp);
  EXPECT_EQ(WhatIsAsked({"tool", "--help=all"}), Asked::kAllHelp);
  EXPECT_EQ(WhatIsAsked({"tool", "--version"}), Asked::kVersion);
  EXPECT_EQ(WhatIsAsked({"tool", "--", "--help"}), Asked::kWork);
  EXPECT_EQ(WhatIsAsked({"--help"}), Asked::kWork);
}

TEST(CommandLineTest, OurFlagsAreThoseOfThisProject) {
  EXPECT_THAT(OurFlags(), ElementsAre("adapt_cache", "expert_cache", "num_slots"));
}

TEST(CommandLineTest, ParsesFlagsAndReturnsTheRest) {
  gflags::FlagSaver saver;
  EXPECT_THAT(*ParseFlags({"tool", "a", "--expert_cache=25%", "b", "--noadapt_cache", "--num_slots",
                           "-3", "--", "--json"}),
              ElementsAre("a", "b", "--json"));
  EXPECT_EQ(FLAGS_expert_cache, "25%");
  EXPECT_FALSE(FLAGS_adapt_cache);
  EXPECT_EQ(FLAGS_num_slots, -3);
}

std::string ErrorOf(std::vector<std::string> arguments) {
  gflags::FlagSaver saver;
  arguments.insert(arguments.begin(), "tool");
  const absl::Status status = ParseFlags(arguments).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kCommandLine);
  return std::string(status.message());
}

TEST(CommandLineTest, SaysWhatIsWrongWithAFlag) {
  EXPECT_EQ(ErrorOf({"--expret_cache=1"}),
            "there is no flag --expret_cache; is --expert_cache meant?");
  EXPECT_EQ(ErrorOf({"--num_solts=3"}), "there is no flag --num_solts; is --num_slots meant?");
  EXPECT_EQ(ErrorOf({"--frobnicate"}), "there is no flag --frobnicate; --help lists them");
  EXPECT_EQ(ErrorOf({"--nothing"}), "there is no flag --nothing; --help lists them");
  EXPECT_EQ(ErrorOf({"--expert_cache"}), "--expert_cache wants a value");
  EXPECT_EQ(ErrorOf({"--num_slots=many"}),
            "--num_slots takes a whole number in its range, not \"many\"");
  EXPECT_EQ(ErrorOf({"--num_slots=99999999999"}),
            "--num_slots takes a whole number in its range, not \"99999999999\"");
  EXPECT_EQ(ErrorOf({"--adapt_cache=perhaps"}),
            "--adapt_cache takes true or false, not \"perhaps\"");
  EXPECT_EQ(ErrorOf({"--flagfile=/dev/zero"}), "there is no flag --flagfile; --help lists them");
}

TEST(CommandLineTest, AFlagWhereAValueIsWantedIsNoValue) {
  EXPECT_THAT(ErrorOf({"--expert_cache", "--num_slots", "3"}),
              ::testing::StartsWith("--expert_cache wants a value, and --num_slots is a flag"));
  gflags::FlagSaver saver;
  ASSERT_TRUE(ParseFlags({"tool", "--expert_cache", "--dashes are text"}).ok());
  EXPECT_EQ(FLAGS_expert_cache, "--dashes are text");
}

TEST(CommandLineTest, WhatFollowsAWrongFlagIsSetAllTheSame) {
  gflags::FlagSaver saver;
  EXPECT_FALSE(ParseFlags({"tool", "--wrong", "--num_slots=7"}).ok());
  EXPECT_EQ(FLAGS_num_slots, 7);
}

}  // namespace
}  // namespace strata
