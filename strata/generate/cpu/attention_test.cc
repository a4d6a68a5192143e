#include "strata/generate/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/sampling/counter_random.h"

namespace strata {
namespace {

constexpr KvShape kKv = {.num_heads = 2, .key_size = 20, .value_size = 12};
constexpr int kHeads = 6;
constexpr int64_t kPositions = 200;  // Four tiles, the last not full.

std::vector<float> Random(uint64_t seed, int64_t size) {
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) {
    values.push_back(static_cast<float>(4.0 * UniformAt(seed, i) - 2.0));
  }
  return values;
}

class AttentionTest : public ::testing::Test {
 protected:
  AttentionTest() {
    state_.Reserve(kPositions);
    for (int64_t position = 0; position < kPositions; ++position) {
      keys_.push_back(Random(2 * position, kKv.num_heads * kKv.key_size));
      values_.push_back(Random(2 * position + 1, kKv.num_heads * kKv.value_size));
      EXPECT_TRUE(state_.Store(0, position, keys_.back(), values_.back()));
    }
  }

  std::vector<float> Attend(const AttentionShape& shape, int64_t position,
                            absl::Span<const float> sinks = {}) {
    std::vector<float> out(kHeads * kKv.value_size, -1.0f);
    constexpr int kGroup = kHeads / kKv.num_heads;
    for (int head = 0; head < kHeads; head += kGroup) {
      Attention().Attend(shape, state_, 0, {head, head + kGroup}, position, queries_, sinks,
                         absl::MakeSpan(out));
    }
    return out;
  }

  // The textbook's, in f64.
  std::vector<double> Expected(const AttentionShape& shape, int64_t position,
                               absl::Span<const float> sinks = {}) const {
    std::vector<double> out;
    for (int head = 0; head < kHeads; ++head) {
      const int kv_head = head / (kHeads / kKv.num_heads);
      double sum = sinks.empty() ? 0.0 : std::exp(sinks[head]);
      std::vector<double> weighted(kKv.value_size);
      for (int64_t j = 0; j <= position; ++j) {
        if (shape.window > 0 && position - j >= shape.window) continue;
        double score = 0;
        for (int i = 0; i < kKv.key_size; ++i) {
          score += double{queries_[head * kKv.key_size + i]} * keys_[j][kv_head * kKv.key_size + i];
        }
        const double weight = std::exp(score * shape.scale);
        sum += weight;
        for (int d = 0; d < kKv.value_size; ++d) {
          weighted[d] += weight * values_[j][kv_head * kKv.value_size + d];
        }
      }
      for (const double value : weighted) out.push_back(value / sum);
    }
    return out;
  }

  void ExpectNear(const std::vector<float>& got, const std::vector<double>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 2e-6) << i;
  }

  KvPool pool_{KvType::kF32, {kKv}};
  KvState state_{pool_};
  std::vector<std::vector<float>> keys_;
  std::vector<std::vector<float>> values_;
  const std::vector<float> queries_ = Random(12345, kHeads* kKv.key_size);
  const AttentionShape all_ = {.num_heads = kHeads, .kv = kKv, .scale = 0.3f};
  const AttentionShape windowed_ = {.num_heads = kHeads, .kv = kKv, .scale = 0.3f, .window = 70};
};

TEST_F(AttentionTest, IsTheSoftmaxOverAllEarlierPositions) {
  for (const int64_t position : {0, 1, 63, 64, 65, 130, 199}) {
    ExpectNear(Attend(all_, position), Expected(all_, position));
  }
}

TEST_F(AttentionTest, AWindowHidesOlderPositions) {
  for (const int64_t position : {0, 69, 70, 127, 133, 134, 199}) {
    ExpectNear(Attend(windowed_, position), Expected(windowed_, position));
  }
}

TEST_F(AttentionTest, ASinkTakesItsShare) {
  const std::vector<float> sinks = {-3.0f, 0.0f, 2.0f, 5.0f, 30.0f, -30.0f};
  for (const int64_t position : {0, 100, 199}) {
    ExpectNear(Attend(all_, position, sinks), Expected(all_, position, sinks));
  }
}

TEST_F(AttentionTest, EveryInstructionSetGivesTheSameBits) {
  const std::vector<float> sinks = {-3.0f, 0.0f, 2.0f, 5.0f, 30.0f, -30.0f};
  SetIsa(Isa::kScalar);
  const std::vector<float> expected = Attend(windowed_, 150, sinks);
  for (const Isa isa : AllIsas()) {
    if (!IsSupported(isa)) continue;
    SetIsa(isa);
    EXPECT_EQ(Attend(windowed_, 150, sinks), expected) << NameOf(isa);
  }
  SetIsa(BestIsa());
}

TEST_F(AttentionTest, AHeadHasTheSameBitsAloneAndBesideOthers) {
  const std::vector<float> together = Attend(all_, 150);
  std::vector<float> alone(together.size());
  for (int head = 0; head < kHeads; ++head) {
    Attention().Attend(all_, state_, 0, {head, head + 1}, 150, queries_, {}, absl::MakeSpan(alone));
  }
  EXPECT_EQ(alone, together);
}

TEST_F(AttentionTest, ValuesThatAreTheBeginningsOfKeysAreKeptOnce) {
  constexpr KvShape kShared = {
      .num_heads = 2, .key_size = 20, .value_size = 12, .values_in_keys = true};
  for (const KvType type : {KvType::kF32, KvType::kF16}) {
    KvPool apart_pool(type, {kKv}), shared_pool(type, {kShared});
    KvState apart(apart_pool), shared(shared_pool);
    apart.Reserve(kPositions);
    shared.Reserve(kPositions);
    EXPECT_EQ(shared_pool.bytes() * (20 + 12), apart_pool.bytes() * 20);
    for (int64_t position = 0; position < kPositions; ++position) {
      const std::vector<float>& keys = keys_[position];
      std::vector<float> values(keys.begin(), keys.begin() + 12);
      values.insert(values.end(), keys.begin() + 20, keys.begin() + 32);
      ASSERT_TRUE(apart.Store(0, position, keys, values));
      ASSERT_TRUE(shared.Store(0, position, keys, {}));
    }
    std::vector<float> expected(kHeads * 12), out(kHeads * 12);
    Attention().Attend(all_, apart, 0, {3, 6}, 199, queries_, {}, absl::MakeSpan(expected));
    AttentionShape shape = all_;
    shape.kv = kShared;
    Attention().Attend(shape, shared, 0, {3, 6}, 199, queries_, {}, absl::MakeSpan(out));
    EXPECT_EQ(out, expected);
  }
}

// Of every page a block, and the positions behind the last whole block.
TEST_F(AttentionTest, SelectedBlocksAreAllThatIsSeen) {
  const std::vector<int32_t> blocks = {0, 3, 15, 16, 31, 40};
  const BlockSelection selection = {.block_size = 4, .blocks = blocks, .tail = 196};
  std::vector<float> out(kHeads * kKv.value_size);
  for (const int head : {0, 3}) {
    Attention().AttendTo(selection, all_, state_, 0, {head, head + 3}, 198, queries_, {},
                         absl::MakeSpan(out));
  }
  // The same positions and no others, one after the other.
  KvPool pool(KvType::kF32, {kKv});
  KvState seen(pool);
  seen.Reserve(27);
  int64_t next = 0;
  for (int64_t position = 0; position < 199; ++position) {
    const bool is_selected = position >= 196 || std::count(blocks.begin(), blocks.end(),
                                                           static_cast<int32_t>(position / 4)) > 0;
    if (!is_selected) continue;
    ASSERT_TRUE(seen.Store(0, next++, keys_[position], values_[position]));
  }
  ASSERT_EQ(next, 27);
  std::vector<float> expected(out.size());
  for (const int head : {0, 3}) {
    Attention().Attend(all_, seen, 0, {head, head + 3}, 26, queries_, {}, absl::MakeSpan(expected));
  }
  EXPECT_EQ(out, expected);
}

TEST_F(AttentionTest, ToSelectAllIsToSelectNone) {
  std::vector<int32_t> blocks(48);
  std::iota(blocks.begin(), blocks.end(), 0);
  std::vector<float> out(kHeads * kKv.value_size);
  for (const int head : {0, 3}) {
    Attention().AttendTo({.block_size = 4, .blocks = blocks, .tail = 192}, all_, state_, 0,
                         {head, head + 3}, 194, queries_, {}, absl::MakeSpan(out));
  }
  EXPECT_EQ(out, Attend(all_, 194));
}

TEST_F(AttentionTest, LaterPositionsDoNotChangeABit) {
  const std::vector<float> before = Attend(all_, 100);
  state_.Reserve(300);
  ASSERT_TRUE(state_.Store(0, 101, Random(77, kKv.num_heads * kKv.key_size),
                           Random(78, kKv.num_heads * kKv.value_size)));
  EXPECT_EQ(Attend(all_, 100), before);
}

}  // namespace
}  // namespace strata
