#include "strata/core/atomic_file.h"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

std::string Content(const fs::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class AtomicFileTest : public ::testing::Test {
 protected:
  AtomicFileTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }

  // Everything that was appended must be there at once, so only Commit may make it visible.
  void Write(const std::string& content) {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(path_);
    ASSERT_TRUE(file.ok()) << file.status();
    const std::string before = Content(path_);
    ASSERT_TRUE(file->Append(Bytes(content)).ok());
    EXPECT_EQ(Content(path_), before);
    const absl::Status committed = file->Commit();
    ASSERT_TRUE(committed.ok()) << committed;
  }

  size_t NumFiles() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "atomic_file_test";
  const fs::path path_ = folder_ / "out.bin";
};

TEST_F(AtomicFileTest, AppearsWhenCommitted) {
  Write("one");
  EXPECT_EQ(Content(path_), "one");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(AtomicFileTest, ReplacesTheOldFileAndKeepsItsMode) {
  std::ofstream(path_) << "an old file";
  fs::permissions(path_, fs::perms(0600));
  Write("new");
  EXPECT_EQ(Content(path_), "new");
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0600));
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
  std::ofstream(path_) << "old";
  {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(path_);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Append(Bytes("new")).ok());
  }
  EXPECT_EQ(Content(path_), "old");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(AtomicFileTest, WritesToTheTargetOfALink) {
  fs::create_symlink(path_, folder_ / "link");
  std::ofstream(path_) << "old";
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(folder_ / "link");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append(Bytes("new")).ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(Content(path_), "new");
}

TEST_F(AtomicFileTest, WritesToADeviceInPlace) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create("/dev/null");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->Append(Bytes("gone")).ok());
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, AFullDiskIsTheMachinesFault) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Status status = file->Append(Bytes("x"));
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kMachine) << status;
}

TEST_F(AtomicFileTest, RefusesAFolderAndAPathThroughNothing) {
  for (const fs::path& path : {folder_, folder_ / "nowhere" / "out.bin"}) {
    const absl::Status status = AtomicFile::Create(path).status();
    EXPECT_EQ(ErrorKind(status), "io") << status;
    EXPECT_EQ(ErrorFile(status), path.string());
  }
}

}  // namespace
}  // namespace strata
