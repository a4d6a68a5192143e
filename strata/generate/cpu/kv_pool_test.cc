#include "strata/generate/cpu/kv_pool.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/generate/cpu/kv_row.h"

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

class KvPoolTest : public ::testing::TestWithParam<KvType> {
 protected:
  void StoreAll(int64_t num_positions) {
    state_.Reserve(num_positions);
    for (int64_t position = 0; position < num_positions; ++position) {
      for (int layer = 0; layer < 2; ++layer) {
        const float sign = layer == 0 ? 1.0f : -2.0f;
        ASSERT_TRUE(state_.Store(layer, position, Rows(position, kKeySize, sign),
                                 Rows(position, kValueSize, -sign)));
      }
    }
    state_.SetSize(num_positions);
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
  KvPool pool_{GetParam(), {shape_, shape_}};
  KvState state_{pool_};
};

MATCHER_P(IsWithin, tolerance, "") {
  return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= tolerance;
}

TEST_P(KvPoolTest, GivesBackEveryRowOfEveryLayer) {
  constexpr int64_t kPositions = KvPool::kPagePositions + 5;
  StoreAll(kPositions);
  std::vector<float> scratch(KvPool::kPagePositions * kKeySize);
  for (int layer = 0; layer < 2; ++layer) {
    const float sign = layer == 0 ? 1.0f : -2.0f;
    for (int64_t position = 0; position < kPositions; ++position) {
      const int64_t page = position / KvPool::kPagePositions;
      const int row = static_cast<int>(position % KvPool::kPagePositions);
      for (int head = 0; head < kHeads; ++head) {
        const std::vector<float> keys = Rows(position, kKeySize, sign);
        const float* got = state_.Keys(layer, head, page, row + 1, scratch.data()) + row * kKeySize;
        EXPECT_THAT(std::vector<float>(got, got + kKeySize),
                    Pointwise(IsWithin(Tolerance()),
                              absl::MakeSpan(keys).subspan(head * kKeySize, kKeySize)));
        const std::vector<float> values = Rows(position, kValueSize, -sign);
        got = state_.Values(layer, head, page, row + 1, scratch.data()) + row * kValueSize;
        EXPECT_THAT(std::vector<float>(got, got + kValueSize),
                    Pointwise(IsWithin(Tolerance()),
                              absl::MakeSpan(values).subspan(head * kValueSize, kValueSize)));
      }
    }
  }
}

TEST_P(KvPoolTest, TakesMemoryPageByPage) {
  EXPECT_EQ(pool_.bytes(), 0);
  state_.Reserve(1);
  const int64_t one_page = pool_.bytes();
  const int64_t row_bytes = KvRowBytes(GetParam(), kKeySize) + KvRowBytes(GetParam(), kValueSize);
  EXPECT_EQ(one_page, 2 * kHeads * KvPool::kPagePositions * row_bytes);
  state_.Reserve(KvPool::kPagePositions);
  EXPECT_EQ(pool_.bytes(), one_page);
  state_.Reserve(KvPool::kPagePositions + 1);
  EXPECT_EQ(pool_.bytes(), 2 * one_page);
}

TEST_P(KvPoolTest, ReportsValuesThatAreNotFinite) {
  state_.Reserve(1);
  std::vector<float> keys = Rows(0, kKeySize, 1.0f);
  std::vector<float> values = Rows(0, kValueSize, 1.0f);
  keys[kKeySize + 3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(state_.Store(0, 0, keys, values));
  keys[kKeySize + 3] = 0.0f;
  values.back() = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(state_.Store(0, 0, keys, values));
}

TEST_P(KvPoolTest, SequencesShareItAndKeepTheirOwn) {
  StoreAll(KvPool::kPagePositions + 1);
  {
    KvState other(pool_);
    other.Reserve(1);
    ASSERT_TRUE(other.Store(0, 0, Rows(7, kKeySize, 1.0f), Rows(7, kValueSize, 1.0f)));
    std::vector<float> a(kKeySize), b(kKeySize);
    const float* const mine = state_.Keys(0, 0, 0, 1, a.data());
    const float* const others = other.Keys(0, 0, 0, 1, b.data());
    EXPECT_NE(std::vector<float>(mine, mine + kKeySize),
              std::vector<float>(others, others + kKeySize));
  }
  const int64_t three_pages = pool_.bytes();
  KvState third(pool_);
  third.Reserve(KvPool::kPagePositions);
  state_.SetSize(1);
  third.Reserve(2 * KvPool::kPagePositions);
  EXPECT_EQ(pool_.bytes(), three_pages) << "pages are used again";
}

TEST_P(KvPoolTest, IndexRowsOfPositionsAndOfBlocksAreKeptBesideKeysAndValues) {
  constexpr int kIndexSize = 33;
  KvShape shape = shape_;
  shape.index_size = kIndexSize;
  shape.index_block = 4;
  KvPool pool(GetParam(), {shape_, shape});
  KvState state(pool);
  state.Reserve(130);
  const auto index_of = [&](int64_t position) {
    const std::vector<float> row = Rows(position, kIndexSize, 1.0f);
    return std::vector<float>(row.begin(), row.begin() + kIndexSize);
  };
  for (int64_t position = 0; position < 130; ++position) {
    ASSERT_TRUE(
        state.Store(1, position, Rows(position, kKeySize, 1.0f), Rows(position, kValueSize, 1.0f)));
    ASSERT_TRUE(state.StoreIndex(1, position, index_of(position)));
    if (position % 4 != 3) continue;
    ASSERT_TRUE(state.StoreBlockIndex(1, position - 3, index_of(-position)));
  }
  std::vector<float> scratch(64 * kIndexSize);
  const auto expect_rows = [&](const float* rows, const std::vector<int64_t>& seeds) {
    for (size_t i = 0; i < seeds.size(); ++i) {
      const std::vector<float> row(rows + i * kIndexSize, rows + (i + 1) * kIndexSize);
      EXPECT_THAT(row, Pointwise(testing::FloatNear(Tolerance()), index_of(seeds[i])));
    }
  };
  expect_rows(state.Indexes(1, 76, 4, scratch.data()), {76, 77, 78, 79});
  expect_rows(state.BlockIndexes(1, 1, 2, scratch.data()), {-67, -71});
  std::vector<float> keys(2 * kKeySize);
  state.CopyKeys(1, 2, 126, 2, keys.data());
  const std::vector<float> last = Rows(127, kKeySize, 1.0f);
  EXPECT_THAT(std::vector<float>(keys.begin() + kKeySize, keys.end()),
              Pointwise(testing::FloatNear(Tolerance()),
                        std::vector<float>(last.begin() + 2 * kKeySize, last.end())));
}

INSTANTIATE_TEST_SUITE_P(Types, KvPoolTest,
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
