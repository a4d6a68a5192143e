#include "strata/generate/engine/kv_cache.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/generate/engine/kv_row.h"

namespace strata {
namespace {

using ::testing::Pointwise;

constexpr int kHeads = 3;
constexpr int kKeySize = 40;  // No whole number of int8 blocks.
constexpr int kValueSize = 7;

// Values that differ by position, head and index.
std::vector<float> Rows(int64_t position, int size, float sign) {
  std::vector<float> rows;
  for (int i = 0; i < kHeads * size; ++i) {
    rows.push_back(sign * std::sin(0.1f * static_cast<float>(position) + static_cast<float>(i)));
  }
  return rows;
}

class KvCacheTest : public ::testing::TestWithParam<KvType> {
 protected:
  void StoreAll(int64_t num_positions) {
    cache_.Reserve(num_positions);
    for (int64_t position = 0; position < num_positions; ++position) {
      for (int layer = 0; layer < 2; ++layer) {
        const float sign = layer == 0 ? 1.0f : -2.0f;
        ASSERT_TRUE(cache_.Store(layer, position, Rows(position, kKeySize, sign),
                                 Rows(position, kValueSize, -sign)));
      }
    }
    cache_.SetSize(num_positions);
  }

  float Tolerance() const {
    switch (GetParam()) {
      case KvType::kF32:
        return 0.0f;
      case KvType::kF16:
        return 1e-3f;
      case KvType::kInt8:
        return 1e-2f;
    }
    return 0.0f;
  }

  const KvShape shape_ = {.num_heads = kHeads, .key_size = kKeySize, .value_size = kValueSize};
  KvCache cache_{GetParam(), {shape_, shape_}};
};

MATCHER_P(IsWithin, tolerance, "") {
  return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= tolerance;
}

TEST_P(KvCacheTest, GivesBackEveryRowOfEveryLayer) {
  constexpr int64_t kPositions = KvCache::kTilePositions + 5;
  StoreAll(kPositions);
  std::vector<float> scratch(KvCache::kTilePositions * kKeySize);
  for (int layer = 0; layer < 2; ++layer) {
    const float sign = layer == 0 ? 1.0f : -2.0f;
    for (int64_t position = 0; position < kPositions; ++position) {
      const int64_t tile = position / KvCache::kTilePositions;
      const int row = static_cast<int>(position % KvCache::kTilePositions);
      for (int head = 0; head < kHeads; ++head) {
        const std::vector<float> keys = Rows(position, kKeySize, sign);
        const float* got = cache_.Keys(layer, head, tile, row + 1, scratch.data()) + row * kKeySize;
        EXPECT_THAT(std::vector<float>(got, got + kKeySize),
                    Pointwise(IsWithin(Tolerance()),
                              absl::MakeSpan(keys).subspan(head * kKeySize, kKeySize)));
        const std::vector<float> values = Rows(position, kValueSize, -sign);
        got = cache_.Values(layer, head, tile, row + 1, scratch.data()) + row * kValueSize;
        EXPECT_THAT(std::vector<float>(got, got + kValueSize),
                    Pointwise(IsWithin(Tolerance()),
                              absl::MakeSpan(values).subspan(head * kValueSize, kValueSize)));
      }
    }
  }
}

TEST_P(KvCacheTest, TakesMemoryTileByTile) {
  EXPECT_EQ(cache_.bytes(), 0);
  cache_.Reserve(1);
  const int64_t one_tile = cache_.bytes();
  const int64_t row_bytes = KvRowBytes(GetParam(), kKeySize) + KvRowBytes(GetParam(), kValueSize);
  EXPECT_EQ(one_tile, 2 * kHeads * KvCache::kTilePositions * row_bytes);
  cache_.Reserve(KvCache::kTilePositions);
  EXPECT_EQ(cache_.bytes(), one_tile);
  cache_.Reserve(KvCache::kTilePositions + 1);
  EXPECT_EQ(cache_.bytes(), 2 * one_tile);
}

TEST_P(KvCacheTest, ReportsValuesThatAreNotFinite) {
  cache_.Reserve(1);
  std::vector<float> keys = Rows(0, kKeySize, 1.0f);
  std::vector<float> values = Rows(0, kValueSize, 1.0f);
  keys[kKeySize + 3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(cache_.Store(0, 0, keys, values));
  keys[kKeySize + 3] = 0.0f;
  values.back() = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(cache_.Store(0, 0, keys, values));
}

INSTANTIATE_TEST_SUITE_P(Types, KvCacheTest,
                         ::testing::Values(KvType::kF32, KvType::kF16, KvType::kInt8));

TEST(KvRowTest, F16RefusesWhatItCannotHold) {
  std::byte row[4];
  EXPECT_TRUE(EncodeKvRow(KvType::kF16, {65504.0f}, row));
  EXPECT_FALSE(EncodeKvRow(KvType::kF16, {65520.0f}, row));
}

TEST(KvRowTest, SmallerTypesTakeFewerBytes) {
  EXPECT_EQ(KvRowBytes(KvType::kF32, 128), 512);
  EXPECT_EQ(KvRowBytes(KvType::kF16, 128), 256);
  EXPECT_EQ(KvRowBytes(KvType::kInt8, 128), 144);
}

}  // namespace
}  // namespace strata
