// --help of every tool: what somebody reads first.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class HelpTest : public ::testing::TestWithParam<const char*> {
 protected:
  static ProgramResult Run(const std::string& flag) {
    return RunProgram({Runfile(GetParam()).value(), flag});
  }
};

TEST_P(HelpTest, FitsATerminalAndShowsWhatIsUsedMost) {
  const ProgramResult help = Run("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(help.out, StartsWith("Usage: "));
  const std::string usage = help.out.substr(0, help.out.find("\n\n"));
  for (const absl::string_view line : absl::StrSplit(usage, "\n")) {
    EXPECT_TRUE(absl::StartsWith(line, "Usage: ") || absl::StartsWith(line, "       ")) << line;
  }
  const std::vector<std::string> lines = absl::StrSplit(help.out, '\n');
  EXPECT_LT(lines.size(), 75u);
  for (const std::string& line : lines) {
    EXPECT_TRUE(!absl::StartsWith(line, "  --") || line.size() <= 80) << line;
  }
  EXPECT_THAT(help.out, HasSubstr("--help=all lists the rest"));
}

TEST_P(HelpTest, EveryFlagIsInAGroup) {
  const std::string all = Run("--help=all").out;
  EXPECT_GT(all.size(), Run("--help").out.size());
  EXPECT_THAT(all, Not(HasSubstr("\nFlags\n"))) << "those in no group";
}

TEST_P(HelpTest, DefaultsAreWrittenAsPeopleWriteThem) {
  const std::string all = Run("--help=all").out;
  EXPECT_THAT(all, Not(ContainsRegex("[0-9]\\.[0-9]{7}"))) << "0.98999999999999999";
  EXPECT_THAT(all, Not(ContainsRegex("default (false|\"\")")));
  EXPECT_THAT(all, Not(ContainsRegex("type: |int32|\\.cc")));
  EXPECT_THAT(all, Not(ContainsRegex("is random[^(]*\\(default"))) << "a number is not";
}

TEST_P(HelpTest, SaysItsVersion) {
  EXPECT_THAT(Run("--version").out, ContainsRegex("of Strata [0-9]+\\.[0-9]+\\.[0-9]+"));
}

INSTANTIATE_TEST_SUITE_P(EveryTool, HelpTest,
                         ::testing::Values("strata/generate/generate",
                                           "strata/generate/generate_benchmark",
                                           "strata/tools/gguf_inspect", "strata/tools/pack_build",
                                           "strata/tools/pack_verify", "strata/tools/profile_build",
                                           "strata/tools/stagebench"));

}  // namespace
}  // namespace strata
