#include "strata/core/cli/error_report.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

TEST(ErrorReportTest, EveryKindOfFaultHasItsObject) {
  EXPECT_EQ(ErrorJson(InputError("bad_magic", "a.gguf", "no GGUF")).dump(),
            R"({"kind":"bad_magic","message":"no GGUF","file":"a.gguf","exit_code":2})");
  EXPECT_EQ(ErrorJson(UsageError("name a file")).dump(),
            R"({"kind":"usage","message":"name a file","file":"","exit_code":1})");
  EXPECT_EQ(ErrorJson(MachineError("no GPU"))["kind"], "machine");
  EXPECT_EQ(ErrorJson(absl::InternalError("a bug"))["exit_code"], 4);
  EXPECT_EQ(ErrorJson(InterruptedError("after 12 tokens"))["exit_code"], 130);
}

TEST(ErrorReportTest, TheLineNamesTheToolTheFileAndTheKind) {
  EXPECT_EQ(ErrorLine("tool", InputError("bad_magic", "a\n.gguf", "no \x1b GGUF")),
            "tool: error: a\\n.gguf: no \\x1b GGUF [bad_magic]");
  EXPECT_EQ(ErrorLine("tool", UsageError("name a file")), "tool: error: name a file");
  EXPECT_EQ(ErrorLine("tool", InterruptedError("after 12 tokens")),
            "tool: interrupted: after 12 tokens");
}

TEST(ErrorReportTest, AStatusRemembersThatItWasPrinted) {
  const absl::Status status = MachineError("it does not fit");
  EXPECT_FALSE(IsAlreadyPrinted(status));
  EXPECT_TRUE(IsAlreadyPrinted(AlreadyPrinted(status)));
  EXPECT_EQ(ExitCodeOf(AlreadyPrinted(status)), ExitCode::kMachine);
}

}  // namespace
}  // namespace strata
