#include "strata/cache/pack/pack_checkpoint.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"

namespace strata {
namespace {

PackCheckpoint TestCheckpoint() {
  return {.job = {7, 8}, .resume = "pack_build 'x'", .units = {{{1, 2}}, {}, {{3, 4}, {5, 6}}}};
}

TEST(PackCheckpointTest, IsReadAsItWasWritten) {
  const PackCheckpoint written = TestCheckpoint();
  const absl::StatusOr<PackCheckpoint> read = PackCheckpoint::Parse(written.Bytes(), "");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->job, written.job);
  EXPECT_EQ(read->resume, written.resume);
  EXPECT_EQ(read->units, written.units);
}

TEST(PackCheckpointTest, EveryChangedByteAndEveryCutIsRefused) {
  const std::vector<std::byte> whole = TestCheckpoint().Bytes();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> changed = whole;
    changed[i] ^= std::byte{4};
    EXPECT_NE(ErrorKind(PackCheckpoint::Parse(changed, "").status()), "") << i;
    EXPECT_NE(ErrorKind(PackCheckpoint::Parse(absl::MakeConstSpan(whole).first(i), "").status()),
              "")
        << i;
  }
}

}  // namespace
}  // namespace strata
