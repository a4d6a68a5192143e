#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ProgramResult Echo(std::vector<std::string> arguments, const ProgramOptions& options = {}) {
  arguments.insert(arguments.begin(), Runfile("strata/core/cli/echo_tool").value());
  return RunProgram(arguments, options);
}

TEST(ToolMainTest, RunsWithItsArgumentsInTheUsersDirectory) {
  const ProgramResult result =
      Echo({"a", "--copies=2", "b"}, {.environment = {"BUILD_WORKING_DIRECTORY=/usr"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "a\nb\na\nb\n/usr\n");
  EXPECT_EQ(result.err, "");
}

TEST(ToolMainTest, HelpShowsItsOwnFlagsAndExitsWithZero) {
  const ProgramResult result = Echo({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("Usage: echo_tool WORD...\n"));
  EXPECT_THAT(result.out, HasSubstr("--copies (int32, default 1)"));
  EXPECT_THAT(result.out, Not(HasSubstr("logtostderr")));
}

TEST(ToolMainTest, WrongValuesExitWithOne) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--copies=0"}, {"--copies=-3"}, {"--copies=many"}, {"--budget=12XB"}, {"--no_such_flag"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const ProgramResult result = Echo(arguments);
    EXPECT_EQ(result.exit_code, 1) << arguments[0];
    EXPECT_EQ(result.out, "") << arguments[0];
    EXPECT_NE(result.err, "") << arguments[0];
  }
}

TEST(ToolMainTest, AFailedStatusIsOneLineAndItsExitCode) {
  EXPECT_EQ(Echo({"--fail=usage"}).exit_code, 1);
  EXPECT_EQ(Echo({"--fail=machine"}).exit_code, 3);
  EXPECT_EQ(Echo({"--fail=internal"}).exit_code, 4);
  EXPECT_EQ(Echo({"--fail=memory"}).exit_code, 3);
  const ProgramResult result = Echo({"--fail=input"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "echo_tool: error: a.gguf: not \\xff GGUF [bad_magic]\n");
}

TEST(ToolMainTest, AThreadThatCannotBeStartedIsTheMachinesFault) {
  const ProgramResult result = Echo({"--fail=thread"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("the system refused"));
}

TEST(ToolMainTest, FlagsOfTheFlagLibraryAreNotOurs) {
  for (const char* flag : {"--flagfile=/dev/zero", "--fromenv=copies", "--version", "--helpfull",
                           "--helpxml", "--helpon=x", "--undefok=x"}) {
    const ProgramResult result = Echo({flag});
    EXPECT_EQ(result.exit_code, 1) << flag;
    EXPECT_THAT(result.err, HasSubstr("unknown command line flag")) << flag;
  }
}

TEST(ToolMainTest, JsonSaysWhatWasRefused) {
  const ProgramResult result = Echo({"--fail=input", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  const Json error = Json::parse(result.out)["error"];
  EXPECT_EQ(error["kind"], "bad_magic");
  EXPECT_EQ(error["file"], "a.gguf");
  EXPECT_EQ(error["message"], "not \xef\xbf\xbd GGUF");
}

TEST(ToolMainTest, AFullDiskBehindStdoutIsTheMachinesFault) {
  const std::string tool = Runfile("strata/core/cli/echo_tool").value();
  const ProgramResult result = RunProgram({"/bin/sh", "-c", tool + " word >/dev/full"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("standard output"));
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", tool + " --help >/dev/full"}).exit_code, 3);
}

}  // namespace
}  // namespace strata
