#include "strata/core/error.h"

#include <cerrno>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(ErrorTest, AnInputErrorCarriesItsKindAndFile) {
  const absl::Status status = InputError("bad_magic", "model.gguf", "it begins with <htm");
  EXPECT_EQ(ErrorKind(status), "bad_magic");
  EXPECT_EQ(ErrorFile(status), "model.gguf");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kInputFile);
}

TEST(ErrorTest, TheSystemsWordsEndAnIoError) {
  const absl::Status status = IoError("gone.gguf", "cannot open", ENOENT);
  EXPECT_EQ(ErrorKind(status), "io");
  EXPECT_EQ(status.message(), "cannot open: No such file or directory");
}

TEST(ErrorTest, TooLittleMemoryIsNotTheFilesFault) {
  const absl::Status status = IoError("big.gguf", "cannot map", ENOMEM);
  EXPECT_EQ(ErrorKind(status), "");
  EXPECT_EQ(ErrorFile(status), "big.gguf");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kMachine);
}

TEST(ErrorTest, AnotherFileCanBeNamed) {
  const absl::Status status = WithFile(InputError("truncated", "", "short"), "b.gguf");
  EXPECT_EQ(ErrorKind(status), "truncated");
  EXPECT_EQ(ErrorFile(status), "b.gguf");
}

TEST(ErrorTest, EveryStatusHasAnExitCode) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kDone);
  EXPECT_EQ(ExitCodeOf(UsageError("--threads is negative")), ExitCode::kCommandLine);
  EXPECT_EQ(ExitCodeOf(MachineError("no GPU")), ExitCode::kMachine);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("no driver")), ExitCode::kMachine);
  EXPECT_EQ(ExitCodeOf(InterruptedError("after 12 tokens")), ExitCode::kInterrupted);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("a bug")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("a bug")), ExitCode::kInternal);
}

}  // namespace
}  // namespace strata
