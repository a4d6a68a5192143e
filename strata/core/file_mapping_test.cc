#include "strata/core/file_mapping.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileMappingTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::unique_ptr<FileMapping> Open(const std::string& path) {
    absl::StatusOr<std::unique_ptr<FileMapping>> mapping = FileMapping::Open(path);
    EXPECT_TRUE(mapping.ok()) << mapping.status();
    return *std::move(mapping);
  }

  fs::path folder_;
};

absl::string_view Text(absl::Span<const std::byte> bytes) {
  return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool AllZero(absl::Span<const std::byte> bytes) {
  for (const std::byte b : bytes) {
    if (b != std::byte{0}) return false;
  }
  return true;
}

std::string Pages(int count, char filled_with) {
  return std::string(static_cast<size_t>(count * sysconf(_SC_PAGESIZE)), filled_with);
}

TEST_F(FileMappingTest, MapsAFileWhole) {
  const auto mapping = Open(Write("a", "some bytes"));
  EXPECT_EQ(Text(mapping->bytes()), "some bytes");
  EXPECT_EQ(mapping->size(), 10);
  EXPECT_TRUE(mapping->CheckUnchanged().ok());
}

TEST_F(FileMappingTest, AnEmptyFileMapsToNoBytes) {
  const auto mapping = Open(Write("a", ""));
  EXPECT_TRUE(mapping->bytes().empty());
  EXPECT_TRUE(mapping->CheckUnchanged().ok());
}

TEST_F(FileMappingTest, OpensABigFileWithoutReadingIt) {
  const std::string path = Write("a", "begin");
  fs::resize_file(path, uintmax_t{1} << 40);
  const auto mapping = Open(path);
  EXPECT_EQ(mapping->size(), int64_t{1} << 40);
  EXPECT_EQ(Text(mapping->bytes().subspan(0, 5)), "begin");
}

TEST_F(FileMappingTest, WhatCannotBeReadIsAnIoErrorWithTheSystemsWords) {
  const auto missing = FileMapping::Open(folder_ / "missing");
  EXPECT_EQ(ErrorKind(missing.status()), "io");
  EXPECT_THAT(missing.status().message(), HasSubstr("No such file or directory"));
  const auto directory = FileMapping::Open(folder_);
  EXPECT_EQ(ErrorKind(directory.status()), "io");
  EXPECT_THAT(directory.status().message(), HasSubstr("Is a directory"));
}

TEST_F(FileMappingTest, AFifoIsRefusedWithoutWaitingForAWriter) {
  const std::string path = folder_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ErrorKind(FileMapping::Open(path).status()), "io");
}

TEST_F(FileMappingTest, AFileWithoutPermissionIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const std::string path = Write("a", "secret");
  fs::permissions(path, fs::perms::none);
  const auto mapping = FileMapping::Open(path);
  EXPECT_EQ(ErrorKind(mapping.status()), "io");
  EXPECT_THAT(mapping.status().message(), HasSubstr("Permission denied"));
}

TEST_F(FileMappingTest, ACutFileReadsAsZerosAndIsReportedAsChanged) {
  const std::string path = Write("a", Pages(4, 'x'));
  const auto mapping = Open(path);
  fs::resize_file(path, static_cast<uintmax_t>(sysconf(_SC_PAGESIZE)));
  const absl::Span<const std::byte> gone =
      mapping->bytes().subspan(static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_TRUE(AllZero(gone));
  const absl::Status status = mapping->CheckUnchanged();
  EXPECT_EQ(ErrorKind(status), "changed");
  EXPECT_EQ(ErrorFile(status), path);
}

TEST_F(FileMappingTest, AMissedPageIsNotForgottenWhenTheFileGrowsBack) {
  const std::string path = Write("a", Pages(2, 'x'));
  const auto mapping = Open(path);
  const auto written = fs::last_write_time(path);
  fs::resize_file(path, 0);
  EXPECT_TRUE(AllZero(mapping->bytes()));
  std::ofstream(path, std::ios::binary) << Pages(2, 'x');
  fs::last_write_time(path, written);
  EXPECT_EQ(ErrorKind(mapping->CheckUnchanged()), "changed");
}

TEST_F(FileMappingTest, AFileCutWithoutBeingReadIsReportedAsChanged) {
  const std::string path = Write("a", Pages(2, 'x'));
  const auto mapping = Open(path);
  fs::resize_file(path, 7);
  EXPECT_EQ(ErrorKind(mapping->CheckUnchanged()), "changed");
}

TEST_F(FileMappingTest, AFileWrittenInPlaceIsReportedAsChanged) {
  const std::string path = Write("a", "some bytes");
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto mapping = Open(path);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << "SOME";
  EXPECT_EQ(ErrorKind(mapping->CheckUnchanged()), "changed");
}

TEST_F(FileMappingTest, AWriteWhoseTimeWasSetBackIsReportedAsChanged) {
  const std::string path = Write("a", "some bytes");
  const auto mapping = Open(path);
  const auto written = fs::last_write_time(path);
  // Past the clock tick of the opening.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::fstream(path, std::ios::in | std::ios::out) << "SOME";
  fs::last_write_time(path, written);
  ASSERT_EQ(fs::last_write_time(path), written);
  EXPECT_EQ(ErrorKind(mapping->CheckUnchanged()), "changed");
}

TEST_F(FileMappingTest, ARenamedFileAndOneOfOtherRightsAreUnchanged) {
  const std::string renamed = Write("a", "some bytes"), locked = Write("b", "some bytes");
  const auto mapping_of_renamed = Open(renamed), mapping_of_locked = Open(locked);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  fs::rename(renamed, folder_ / "c");
  fs::permissions(locked, fs::perms(0400));
  EXPECT_TRUE(mapping_of_renamed->CheckUnchanged().ok());
  EXPECT_TRUE(mapping_of_locked->CheckUnchanged().ok());
}

TEST_F(FileMappingTest, AReplacedFileKeepsItsOldBytes) {
  const std::string path = Write("a", "old bytes");
  const auto mapping = Open(path);
  fs::rename(Write("b", "new"), path);
  EXPECT_EQ(Text(mapping->bytes()), "old bytes");
  EXPECT_TRUE(mapping->CheckUnchanged().ok());
}

TEST_F(FileMappingTest, ADeletedFileKeepsItsOldBytes) {
  const std::string path = Write("a", "old bytes");
  const auto mapping = Open(path);
  fs::remove(path);
  EXPECT_EQ(Text(mapping->bytes()), "old bytes");
  EXPECT_TRUE(mapping->CheckUnchanged().ok());
}

TEST_F(FileMappingTest, DroppedPagesReadTheSame) {
  const auto mapping = Open(Write("a", Pages(3, 'x') + "end"));
  EXPECT_EQ(Text(mapping->bytes()), Pages(3, 'x') + "end");
  mapping->DropPages(1, mapping->size() - 1);
  EXPECT_EQ(Text(mapping->bytes()), Pages(3, 'x') + "end");
}

TEST_F(FileMappingTest, ManyThreadsMayReadWhileTheFileIsCut) {
  const std::string path = Write("a", Pages(64, 'x'));
  const auto mapping = Open(path);
  std::atomic<bool> cut = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!cut) static_cast<void>(AllZero(mapping->bytes().subspan(0, 1)));
      EXPECT_TRUE(AllZero(mapping->bytes()));
    });
  }
  fs::resize_file(path, 0);
  cut = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(ErrorKind(mapping->CheckUnchanged()), "changed");
}

TEST_F(FileMappingTest, MappingsComeAndGoWhileOthersFault) {
  const std::string path = Write("a", Pages(8, 'x'));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::string own = Write(std::to_string(i), Pages(8, 'x'));
      for (int round = 0; round < 20; ++round) {
        fs::resize_file(own, 0);
        std::ofstream(own, std::ios::binary) << Pages(8, 'x');
        const auto mapping = Open(own);
        fs::resize_file(own, 0);
        EXPECT_TRUE(AllZero(mapping->bytes()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace strata
