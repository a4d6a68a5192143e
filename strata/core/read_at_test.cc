#include "strata/core/read_at.h"

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"

namespace strata {
namespace {

using testing::HasSubstr;

class ReadAtTest : public testing::Test {
 protected:
  ReadAtTest() : path_(testing::TempDir() + "/read_at") {
    std::ofstream(path_) << "0123456789";
    file_ = FileMapping::Open(path_).value();
  }

  const std::string path_;
  std::unique_ptr<FileMapping> file_;
};

TEST_F(ReadAtTest, FillsAllThatIsAskedForFromTheOffsetOn) {
  std::vector<std::byte> bytes(4);
  ASSERT_TRUE(ReadAt(*file_, 3, absl::MakeSpan(bytes), "it").ok());
  EXPECT_EQ(bytes[0], std::byte{'3'});
  EXPECT_EQ(bytes[3], std::byte{'6'});
  EXPECT_TRUE(ReadAt(*file_, 10, {}, "it").ok());
}

TEST_F(ReadAtTest, AFileThatEndsBeforeSaysHowMuchIsMissing) {
  ASSERT_EQ(truncate(path_.c_str(), 5), 0);
  std::vector<std::byte> bytes(4);
  const absl::Status status = ReadAt(*file_, 3, absl::MakeSpan(bytes), "layer 1");
  EXPECT_EQ(ErrorKind(status), "changed");
  EXPECT_EQ(ErrorFile(status), path_);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("reading layer 1: the file ends at 5, 2 bytes short"));
}

TEST_F(ReadAtTest, WhatTheSystemRefusesIsAnErrorOfItsOwn) {
  std::vector<std::byte> bytes(4);
  EXPECT_EQ(ErrorKind(ReadAt(*file_, -1, absl::MakeSpan(bytes), "it")), "io");
}

}  // namespace
}  // namespace strata
