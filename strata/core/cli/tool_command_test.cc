#include "strata/core/cli/tool_command.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

DEFINE_int32(beats, 3, "Of both commands.");
DEFINE_string(tune, "", "Of sing alone.");

namespace strata {
namespace {

using ::testing::HasSubstr;

absl::Status Sing(const std::vector<std::string>& arguments) {
  return absl::OutOfRangeError("sang " + arguments.at(0));
}
absl::Status Drum(const std::vector<std::string>& arguments) {
  return absl::OutOfRangeError("drummed " + std::to_string(arguments.size()));
}

absl::Status RunOne(const std::vector<std::string>& arguments) {
  const std::vector<ToolCommand> commands = {{"sing", {"beats", "tune"}, Sing},
                                             {"drum", {"beats"}, Drum}};
  return RunCommand(commands, arguments);
}

TEST(ToolCommandTest, TheFirstArgumentNamesItAndTheOthersAreItsOwn) {
  EXPECT_EQ(RunOne({"sing", "loud"}), absl::OutOfRangeError("sang loud"));
  EXPECT_EQ(RunOne({"drum"}), absl::OutOfRangeError("drummed 0"));
}

TEST(ToolCommandTest, TakesNoFlagOfTheOthersAlone) {
  const gflags::FlagSaver saver;
  gflags::SetCommandLineOption("beats", "4");
  EXPECT_EQ(RunOne({"drum"}), absl::OutOfRangeError("drummed 0"));
  gflags::SetCommandLineOption("tune", "a");
  EXPECT_EQ(RunOne({"drum"}), UsageError("--tune does not go with drum"));
  EXPECT_EQ(RunOne({"sing", "low"}), absl::OutOfRangeError("sang low"));
}

TEST(ToolCommandTest, ANameThatIsNoneIsAUsageError) {
  EXPECT_EQ(RunOne({}), UsageError("name a command; --help lists them"));
  EXPECT_THAT(std::string(RunOne({"dance"}).message()), HasSubstr("no command dance"));
  EXPECT_EQ(ExitCodeOf(RunOne({"dance"})), ExitCode::kCommandLine);
}

}  // namespace
}  // namespace strata
