#include "strata/cache/host/blob_reader.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

class BlobReaderTest : public ::testing::Test {
 protected:
  // Reads all experts; how many came out wrong.
  int NumWrong(BlobReader& reader) {
    std::vector<std::byte> blob(experts_.files().max_blob_bytes());
    int num_wrong = 0;
    for (const ExpertId id : experts_.ids()) {
      std::fill(blob.begin(), blob.end(), std::byte{0});
      EXPECT_TRUE(reader.Read(id, absl::MakeSpan(blob)).ok());
      num_wrong += !experts_.IsBlobOf(id, blob.data());
    }
    return num_wrong;
  }
  // Of all slices.
  int64_t AllBytes() const {
    int64_t bytes = 0;
    for (const ExpertId id : experts_.ids()) {
      for (const ExpertSlice& slice : experts_.files().Slices(id)) bytes += slice.bytes;
    }
    return bytes;
  }

  const TestExperts experts_;
};

TEST_F(BlobReaderTest, CopiesFromTheMappingWhatIsInMemory) {
  BlobReader reader(experts_.files());
  EXPECT_EQ(NumWrong(reader), 0);
  EXPECT_EQ(reader.counters().mapping_bytes, AllBytes());
  EXPECT_EQ(reader.counters().read_bytes, 0);
}

TEST_F(BlobReaderTest, ReadsWithLargeRequestsWhatIsOnDisk) {
  BlobReader reader(experts_.files());
  std::vector<std::byte> blob(experts_.files().max_blob_bytes());
  experts_.MakeCold();
  const ExpertId id = experts_.ids()[0];
  ASSERT_TRUE(reader.Read(id, absl::MakeSpan(blob)).ok());
  if (reader.counters().read_bytes == 0) {
    GTEST_SKIP() << "the filesystem of " << experts_.path(0) << " keeps all pages in memory";
  }
  EXPECT_TRUE(experts_.IsBlobOf(id, blob.data()));
}

TEST_F(BlobReaderTest, BothPathsGiveTheSameBytes) {
  BlobReader mapping(experts_.files(), BlobReader::Path::kMapping);
  BlobReader read(experts_.files(), BlobReader::Path::kRead);
  EXPECT_EQ(NumWrong(mapping), 0);
  EXPECT_EQ(NumWrong(read), 0);
  EXPECT_EQ(mapping.counters().mapping_bytes, AllBytes());
  EXPECT_EQ(read.counters().read_bytes, AllBytes());
}

TEST_F(BlobReaderTest, ManyThreadsReadAtOnce) {
  BlobReader reader(experts_.files());
  std::atomic<int> num_wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { num_wrong += NumWrong(reader); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST_F(BlobReaderTest, AFileThatHasBecomeShorterIsAnErrorThatNamesTheSlice) {
  BlobReader reader(experts_.files(), BlobReader::Path::kRead);
  const ExpertId id = experts_.ids().back();
  const ExpertSlice& down = experts_.files().Slices(id)[2];
  ASSERT_EQ(truncate(experts_.path(1).c_str(), down.file_offset + 100), 0);
  std::vector<std::byte> blob(experts_.files().max_blob_bytes());
  const absl::Status status = reader.Read(id, absl::MakeSpan(blob));
  EXPECT_EQ(ErrorKind(status), "changed");
  EXPECT_EQ(ErrorFile(status), experts_.path(1));
  EXPECT_THAT(std::string(status.message()), HasSubstr("layer 1, expert 7, down in shard 1"));
}

TEST_F(BlobReaderTest, PrefetchBringsPagesIntoMemoryWithoutCountingThem) {
  BlobReader reader(experts_.files());
  experts_.MakeCold();
  reader.Prefetch(experts_.ids());
  EXPECT_EQ(reader.counters().mapping_bytes + reader.counters().read_bytes, 0);
  EXPECT_EQ(NumWrong(reader), 0);
}

}  // namespace
}  // namespace strata
