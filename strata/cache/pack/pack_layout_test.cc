#include "strata/cache/pack/pack_layout.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<int64_t> kBlobs = {4096, 4352, 256};

TEST(PackLayoutTest, BlobsFollowTheHeaderInTheOrderThatIsAskedFor) {
  const PackLayout layout = PackLayout::Create(kBlobs, {2, 0, 1});
  EXPECT_THAT(layout.offsets, ElementsAre(8192, 12288, 4096));
  EXPECT_EQ(layout.bytes, 12288 + 8192);
  EXPECT_EQ(layout.WhyNot(kBlobs), "");
}

TEST(PackLayoutTest, SaysWhatKeepsItFromBeingALayout) {
  const PackLayout right = PackLayout::Create(kBlobs, {0, 1, 2});
  PackLayout wrong = right;
  wrong.offsets[1] += 4096;
  EXPECT_THAT(wrong.WhyNot(kBlobs), HasSubstr("begins at 12288 instead of 8192"));
  wrong = right;
  wrong.offsets[1] = wrong.offsets[0];  // Two in one place.
  EXPECT_NE(wrong.WhyNot(kBlobs), "");
  wrong = right;
  wrong.offsets.pop_back();
  EXPECT_THAT(wrong.WhyNot(kBlobs), HasSubstr("2 blobs for 3 experts"));
  wrong = right;
  wrong.bytes += 4096;
  EXPECT_NE(wrong.WhyNot(kBlobs), "");
}

TEST(PackLayoutTest, EveryByteOfTheHeaderCounts) {
  const PackLayout layout = PackLayout::Create(kBlobs, {0, 1, 2});
  const std::vector<Checksum> hashes = {{1, 2}, {3, 4}, {5, 6}};
  std::vector<std::byte> header = layout.Header(hashes);
  ASSERT_EQ(header.size(), 4096u);
  EXPECT_TRUE(layout.CheckHeader(header, hashes).ok());
  for (std::byte& byte : header) {
    byte ^= std::byte{1};
    const std::string kind = ErrorKind(layout.CheckHeader(header, hashes));
    EXPECT_THAT(kind, testing::AnyOf("bad_magic", "bad_version", "bad_checksum"));
    byte ^= std::byte{1};
  }
}

TEST(PackLayoutTest, AHeaderOfOtherBlobsOrAnotherOrderIsOfAnotherPack) {
  const PackLayout layout = PackLayout::Create(kBlobs, {0, 1, 2});
  const std::vector<Checksum> hashes = {{1, 2}, {3, 4}, {5, 6}};
  const std::vector<std::byte> header = layout.Header(hashes);
  EXPECT_EQ(ErrorKind(layout.CheckHeader(header, {{1, 2}, {3, 4}, {5, 7}})), "pack_mismatch");
  const PackLayout other = PackLayout::Create(kBlobs, {0, 2, 1});
  EXPECT_EQ(ErrorKind(other.CheckHeader(header, hashes)), "pack_mismatch");
}

}  // namespace
}  // namespace strata
