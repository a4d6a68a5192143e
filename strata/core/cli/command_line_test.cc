#include "strata/core/cli/command_line.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

DEFINE_bool(adapt_cache, true, "A boolean of this test.");
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
  EXPECT_TRUE(AsksForHelp({"tool", "x", "--help"}));
  EXPECT_FALSE(AsksForHelp({"tool", "--", "--help"}));
  EXPECT_FALSE(AsksForHelp({"--help"}));
}

TEST(CommandLineTest, HelpShowsOurFlagsAlone) {
  const std::string help = HelpText("tool FILE");
  EXPECT_TRUE(absl::StartsWith(help, "Usage: tool FILE\n"));
  EXPECT_TRUE(absl::StrContains(help, "--expert_cache (string, default \"auto\")\n      A string"));
  EXPECT_FALSE(absl::StrContains(help, "logtostderr"));
  EXPECT_FALSE(absl::StrContains(help, "flagfile"));
}

TEST(CommandLineTest, ParsesFlagsAndReturnsTheRest) {
  gflags::FlagSaver saver;
  EXPECT_THAT(ParseFlags({"tool", "a", "--expert_cache=25%", "b", "--noadapt_cache"}),
              ElementsAre("a", "b"));
  EXPECT_EQ(FLAGS_expert_cache, "25%");
  EXPECT_FALSE(FLAGS_adapt_cache);
}

TEST(CommandLineDeathTest, AWrongFlagExitsWithOne) {
  EXPECT_EXIT(ParseFlags({"tool", "--expret_cache=1"}), ::testing::ExitedWithCode(1),
              "unknown command line flag 'expret_cache'");
}

}  // namespace
}  // namespace strata
