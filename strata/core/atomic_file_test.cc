#include "strata/core/atomic_file.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace {

bool next_close_fails = false;

}  // namespace

// In the place of the system's: network file systems tell of lost bytes when a file is closed.
extern "C" int close(int fd) {
  const int result = static_cast<int>(syscall(SYS_close, fd));
  if (!std::exchange(next_close_fails, false)) return result;
  errno = EIO;
  return -1;
}

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

TEST_F(AtomicFileTest, WritesWhatALinkNamesThoughItIsNotThereYet) {
  fs::create_symlink("out.bin", folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "link_to_link");
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(folder_ / "link_to_link");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append(Bytes("new")).ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link_to_link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(Content(path_), "new");
}

TEST_F(AtomicFileTest, RefusesALinkThatLeadsToItself) {
  fs::create_symlink("link", folder_ / "link");
  const absl::Status status = AtomicFile::Create(folder_ / "link").status();
  EXPECT_EQ(ErrorKind(status), "io") << status;
}

TEST_F(AtomicFileTest, TwoWritersOfOnePathDoNotTouchEachOthersBytes) {
  absl::StatusOr<AtomicFile> one = AtomicFile::Create(path_);
  ASSERT_TRUE(one->Append(Bytes("on")).ok());
  absl::StatusOr<AtomicFile> other = AtomicFile::Create(path_);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE(other->Append(Bytes("other")).ok());
  ASSERT_TRUE(one->Append(Bytes("e")).ok());
  ASSERT_TRUE(one->Commit().ok());
  EXPECT_EQ(Content(path_), "one");
  ASSERT_TRUE(other->Commit().ok());
  EXPECT_EQ(Content(path_), "other");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(AtomicFileTest, ANewFileObeysTheUmaskAndAnOldOneKeepsItsRightsWhateverItSays) {
  const mode_t before = umask(027);
  Write("new");
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0640));
  fs::permissions(path_, fs::perms(0664));
  Write("newer");
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0664));
  umask(before);
}

TEST_F(AtomicFileTest, LeavesNothingWhenTheLastCloseFails) {
  {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(path_);
    ASSERT_TRUE(file->Append(Bytes("new")).ok());
    next_close_fails = true;
    const absl::Status status = file->Commit();
    EXPECT_EQ(ErrorKind(status), "io") << status;
  }
  EXPECT_EQ(NumFiles(), 0);
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
