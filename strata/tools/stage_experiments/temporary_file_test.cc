#include "strata/tools/stage_experiments/temporary_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"

namespace strata::stagebench {
namespace {

using ::testing::HasSubstr;

TEST(TemporaryFileTest, HoldsBytesAndHasNoName) {
  const std::string folder = testing::TempDir() + "/temporary_file_test";
  std::filesystem::create_directories(folder);
  const absl::StatusOr<FileDescriptor> file = CreateTemporaryFile(folder, 4);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::ofstream(PathOf(*file)) << "1234";
  std::string read;
  std::ifstream(PathOf(*file)) >> read;
  EXPECT_EQ(read, "1234");
}

TEST(TemporaryFileTest, AFolderThatWillNotDoIsTheMachinesFault) {
  const absl::StatusOr<FileDescriptor> missing = CreateTemporaryFile("/no/such\nfolder", 1);
  EXPECT_EQ(ExitCodeOf(missing.status()), ExitCode::kMachine);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("/no/such\\nfolder: No such file"));
  const absl::StatusOr<FileDescriptor> full = CreateTemporaryFile("/tmp", int64_t{1} << 60);
  EXPECT_EQ(ExitCodeOf(full.status()), ExitCode::kMachine);
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("are needed"));
}

}  // namespace
}  // namespace strata::stagebench
