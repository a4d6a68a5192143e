#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

using ::testing::ContainsRegex;
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
  EXPECT_THAT(result.out, HasSubstr("--copies N              How often to print. (default 1)\n"));
  EXPECT_THAT(result.out, HasSubstr("--quiet "));
  EXPECT_THAT(result.out, Not(HasSubstr("--budget"))) << "rare";
  EXPECT_THAT(Echo({"--help=all"}).out, HasSubstr("--budget SIZE"));
  EXPECT_THAT(result.out, Not(HasSubstr("logtostderr")));
}

TEST(ToolMainTest, WrongValuesExitWithOne) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--copies=0"}, {"--copies=-3"}, {"--copies=many"}, {"--budget=12XB"}, {"--no_such_flag"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const ProgramResult result = Echo(arguments);
    EXPECT_EQ(result.exit_code, 1) << arguments[0];
    EXPECT_EQ(result.out, "") << arguments[0];
    EXPECT_THAT(result.err, StartsWith("echo_tool: error: ")) << arguments[0];
  }
}

TEST(ToolMainTest, AWrongFlagIsAnObjectWithJsonWhereverThatStands) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--copies=0", "--json"}, {"--json", "--no_such_flag"}, {"--json", "--log_level=all"}}) {
    const ProgramResult result = Echo(arguments);
    EXPECT_EQ(result.exit_code, 1);
    const Json error = Json::parse(result.out)["error"];
    EXPECT_EQ(error["kind"], "usage");
    EXPECT_EQ(error["exit_code"], 1);
  }
}

TEST(ToolMainTest, NotesAndLogsArePlainLines) {
  EXPECT_EQ(Echo({"--chatty"}).err, "all is well\nwarning: not as asked\nerror: nobody to tell\n");
  EXPECT_EQ(Echo({"--chatty", "--quiet"}).err, "error: nobody to tell\n");
  EXPECT_EQ(Echo({"--chatty", "--log_level=info"}).err,
            "all is well\ninfo: a detail\nwarning: not as asked\nerror: nobody to tell\n");
  EXPECT_EQ(Echo({"--chatty", "--log_level=error"}).err, "all is well\nerror: nobody to tell\n");
}

TEST(ToolMainTest, EveryToolHasAVersion) {
  const ProgramResult result = Echo({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ContainsRegex("^echo_tool of Strata [0-9]+.[0-9]+.[0-9]+"));
}

TEST(ToolMainTest, AFailedStatusIsOneLineAndItsExitCode) {
  EXPECT_EQ(Echo({"--fail=usage"}).exit_code, 1);
  EXPECT_EQ(Echo({"--fail=machine"}).exit_code, 3);
  EXPECT_EQ(Echo({"--fail=internal"}).exit_code, 4);
  EXPECT_EQ(Echo({"--fail=memory"}).exit_code, 3);
  EXPECT_EQ(Echo({"--fail=memory", "a", "word"}).exit_code, 3);
  const ProgramResult result = Echo({"--fail=input"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "echo_tool: error: a.gguf: not \\xff GGUF [bad_magic]\n");
}

TEST(ToolMainTest, AClosedStreamLendsItsNumberToNoFile) {
  const std::string tool = Runfile("strata/core/cli/echo_tool").value();
  const ProgramResult result = RunProgram({"/bin/sh", "-c", tool + " --fail=open >&- <&-"});
  EXPECT_THAT(result.err, ContainsRegex("opened ([3-9]|[1-9][0-9]+)\n"));
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", tool + " word >&-"}).exit_code, 3);
}

TEST(ToolMainTest, AThreadThatCannotBeStartedIsTheMachinesFault) {
  const ProgramResult result = Echo({"--fail=thread"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("the system refused"));
}

TEST(ToolMainTest, FlagsOfTheFlagLibraryAreNotOurs) {
  for (const char* flag : {"--flagfile=/dev/zero", "--fromenv=copies", "--helpfull", "--helpxml",
                           "--helpon=x", "--undefok=x", "--logtostderr", "--v=1"}) {
    const ProgramResult result = Echo({flag});
    EXPECT_EQ(result.exit_code, 1) << flag;
    EXPECT_THAT(result.err, HasSubstr("there is no flag")) << flag;
  }
}

TEST(ToolMainTest, EveryExitCodeButZeroIsAnObjectWithJson) {
  for (const auto& [fail, code] : std::vector<std::pair<std::string, int>>{{"usage", 1},
                                                                           {"input", 2},
                                                                           {"machine", 3},
                                                                           {"memory", 3},
                                                                           {"internal", 4},
                                                                           {"interrupt", 130}}) {
    const ProgramResult result = Echo({"--fail=" + fail, "--json"});
    EXPECT_EQ(result.exit_code, code) << fail;
    EXPECT_EQ(Json::parse(result.out)["error"]["exit_code"], code) << fail;
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
