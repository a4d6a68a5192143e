#include "strata/generate/blocks/decode.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/quant_oracle.h"

namespace strata {
namespace {

std::vector<float> Decode(BlockType type, const std::vector<std::byte>& bytes, size_t n) {
  std::vector<float> values(n);
  DecodeRow(type, bytes.data(), absl::MakeSpan(values));
  return values;
}

// Exactly the same numbers. The sign of a zero is free: q3_K and q6_K multiply two signed codes,
// and the other implementation multiplies the scale into one of them first.
size_t NumDifferent(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  size_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) different += a[i] == b[i] ? 0 : 1;
  return different;
}

TEST(DecodeTest, GivesTheStoredValuesOfEveryType) {
  for (const QuantOracle& oracle : LoadQuantOracles()) {
    const std::vector<float> rows = oracle.DecodedRows();
    ASSERT_EQ(rows.size(), kOracleRows * kOracleColumns) << oracle.name;
    EXPECT_EQ(NumDifferent(Decode(oracle.type, oracle.Rows(), rows.size()), rows), 0)
        << oracle.name;
    const std::vector<float> codes = oracle.DecodedCodes();
    ASSERT_GE(codes.size(), 1024) << oracle.name;
    EXPECT_EQ(NumDifferent(Decode(oracle.type, oracle.Codes(), codes.size()), codes), 0)
        << oracle.name;
  }
}

template <typename T>
std::vector<std::byte> Bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(DecodeTest, ReadsPlainNumbers) {
  EXPECT_EQ(Decode(BlockType::kF32, Bytes<float>({1.5f, -2.0f}), 2),
            (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(Decode(BlockType::kF64, Bytes<double>({0.1}), 1), (std::vector<float>{0.1f}));
  EXPECT_EQ(Decode(BlockType::kI8, Bytes<int8_t>({-128}), 1), (std::vector<float>{-128.0f}));
  EXPECT_EQ(Decode(BlockType::kI16, Bytes<int16_t>({-300}), 1), (std::vector<float>{-300.0f}));
  EXPECT_EQ(Decode(BlockType::kI32, Bytes<int32_t>({70000}), 1), (std::vector<float>{70000.0f}));
  EXPECT_EQ(Decode(BlockType::kI64, Bytes<int64_t>({-5}), 1), (std::vector<float>{-5.0f}));
}

TEST(DecodeTest, ReadsTheTypesThatOnlyHoldActivations) {
  std::vector<std::byte> q8_1(36);
  q8_1[1] = std::byte{0x40};  // d = 2
  q8_1[4] = std::byte{0xfd};  // -3
  q8_1[35] = std::byte{127};
  const std::vector<float> q8_1_values = Decode(BlockType::kQ8_1, q8_1, 32);
  EXPECT_EQ(q8_1_values[0], -6.0f);
  EXPECT_EQ(q8_1_values[31], 254.0f);

  std::vector<std::byte> q8_k(292);
  const float d = 0.1f;
  std::memcpy(q8_k.data(), &d, sizeof(d));
  q8_k[4] = std::byte{0x80};
  q8_k[259] = std::byte{3};
  const std::vector<float> q8_k_values = Decode(BlockType::kQ8_K, q8_k, 256);
  EXPECT_EQ(q8_k_values[0], -128.0f * d);
  EXPECT_EQ(q8_k_values[255], 3.0f * d);
}

TEST(DecodeTest, ReachesBothEndsOfTheScaleOfMxfp4) {
  std::vector<std::byte> block(17, std::byte{0x11});  // Every value 0.5, doubled to 1.
  block[0] = std::byte{0};
  EXPECT_EQ(Decode(BlockType::kMXFP4, block, 32)[0], 0x1p-128f);
  block[0] = std::byte{1};
  EXPECT_EQ(Decode(BlockType::kMXFP4, block, 32)[0], 0x1p-127f);
  block[0] = std::byte{255};
  EXPECT_EQ(Decode(BlockType::kMXFP4, block, 32)[31], 0x1p127f);
}

TEST(DecodeTest, TakesTheTwoEmptyScalesOfNvfp4AsZero) {
  std::vector<std::byte> block(36, std::byte{0x77});  // Every value 6, doubled to 12.
  block[0] = std::byte{0};
  block[1] = std::byte{127};
  block[2] = std::byte{126};
  block[3] = std::byte{1};
  const std::vector<float> values = Decode(BlockType::kNVFP4, block, 64);
  EXPECT_EQ(values[0], 0.0f);
  EXPECT_EQ(values[16], 0.0f);
  EXPECT_EQ(values[32], 448.0f * 6.0f);
  EXPECT_EQ(values[48], 6.0f * 0x1p-9f);
}

}  // namespace
}  // namespace strata
