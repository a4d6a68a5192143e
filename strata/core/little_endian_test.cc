#include "strata/core/little_endian.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace strata {
namespace {

std::vector<std::byte> Bytes(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(LittleEndianTest, WritesTheLowestByteFirst) {
  LittleEndianWriter writer;
  writer.Number(uint32_t{0x01020304}).Number(uint8_t{5}).Raw("ab");
  EXPECT_EQ(writer.bytes(), Bytes({4, 3, 2, 1, 5, 'a', 'b'}));
}

TEST(LittleEndianTest, ReadsWhatWasWritten) {
  const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, std::numeric_limits<uint64_t>::max()};
  LittleEndianWriter writer;
  writer.Number(2.5).Number(int16_t{-3});
  for (const uint64_t number : numbers) writer.Varint(number);
  writer.Raw("end");
  LittleEndianReader reader(writer.bytes());
  EXPECT_EQ(reader.Number<double>(), 2.5);
  EXPECT_EQ(reader.Number<int16_t>(), -3);
  for (const uint64_t number : numbers) EXPECT_EQ(reader.Varint(), number);
  EXPECT_EQ(reader.Text(3), "end");
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(reader.bytes_left(), 0u);
}

TEST(LittleEndianTest, FailsForGoodPastTheEnd) {
  const std::vector<std::byte> bytes = Bytes({1, 2, 3});
  LittleEndianReader reader(bytes);
  EXPECT_EQ(reader.Number<uint32_t>(), 0u);
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.Number<uint8_t>(), 0u);
  EXPECT_EQ(reader.Text(1), "");
}

TEST(LittleEndianTest, RefusesVarintsThatNoWriterMakes) {
  const std::vector<std::vector<int>> wrong = {
      {},
      {0x80},
      {0x81, 0},
      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2},
      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 1}};
  for (const std::vector<int>& values : wrong) {
    const std::vector<std::byte> bytes = Bytes(values);
    LittleEndianReader reader(bytes);
    EXPECT_EQ(reader.Varint(), 0u);
    EXPECT_TRUE(reader.failed()) << values.size() << " bytes";
  }
}

}  // namespace
}  // namespace strata
