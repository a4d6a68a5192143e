#include "strata/core/checksum.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(ChecksumTest, IsTheXxh128OfTheBytes) {
  // xxh128sum of an empty file.
  EXPECT_EQ(ChecksumOf({}).ToHex(), "99aa06d3014798d86001c324468d497f");
}

TEST(ChecksumTest, IsReadFromItsDigitsAndFromNothingElse) {
  const Checksum checksum = ChecksumOf({});
  EXPECT_EQ(Checksum::FromHex(checksum.ToHex()), checksum);
  EXPECT_EQ(checksum.ToBytes()[0], std::byte{0x99});
  EXPECT_EQ(checksum.ToBytes()[15], std::byte{0x7f});
  for (const char* wrong :
       {"", "99aa06d3014798d86001c324468d497", "99aa06d3014798d86001c324468d497F",
        "99aa06d3014798d86001c324468d497g", "99aa06d3014798d86001c324468d497f0"}) {
    EXPECT_EQ(Checksum::FromHex(wrong), std::nullopt) << wrong;
  }
}

TEST(ChecksumTest, OfPartsIsThatOfTheWhole) {
  std::vector<std::byte> bytes(10000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 % 253);
  const auto whole = absl::MakeConstSpan(bytes);
  ChecksumBuilder parts;
  parts.Add(whole.subspan(0, 1));
  parts.Add(whole.subspan(1, 5000));
  parts.Add(whole.subspan(5001));
  EXPECT_EQ(parts.Finish(), ChecksumOf(whole));
  bytes[7000] = std::byte{0};
  EXPECT_FALSE(parts.Finish() == ChecksumOf(whole));
}

}  // namespace
}  // namespace strata
