// The arithmetic of kernels that the host can compile, against the CPU's.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/draw_key.h"
#include "strata/generate/kernels/cuda/half_products.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

TEST(Int8ScaleTest, QuantizesABlockAsTheCpuDoes) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (float spread : {1.0f, 1e-20f, 3e25f, 0x1p-102f, 0x1p-140f, 0.0f}) {
    std::vector<float> x(32);
    for (float& value : x) value = spread * normal(random);
    int8_t q[32];
    float scale = -1.0f;
    int16_t sum = 0;
    ASSERT_TRUE(QuantizeA32(x, q, &scale, &sum));
    uint32_t max = 0;
    for (float value : x) max = std::max(max, f32::MagnitudeBits(value));
    const Int8Scale found = Int8ScaleOf(max);
    EXPECT_EQ(f32::Bits(found.scale), f32::Bits(scale)) << spread;
    for (int i = 0; i < 32; ++i) EXPECT_EQ(ToInt8(x[i], found), q[i]) << spread << ", " << i;
  }
}

TEST(Int8ScaleTest, IsZeroForABlockThatIsNotFinite) {
  EXPECT_EQ(Int8ScaleOf(f32::kInfinityBits).scale, 0.0f);
  EXPECT_EQ(ToInt8(INFINITY, Int8ScaleOf(f32::kInfinityBits)), 0);
  EXPECT_EQ(ToInt8(NAN, Int8ScaleOf(f32::Bits(NAN))), 0);
}

TEST(OrderedBitsTest, AreOrderedAsTheFloatsAre) {
  const std::vector<float> ascending = {-INFINITY, -2.5f, -1e-40f, -0.0f,   0.0f,
                                        1e-40f,    1.0f,  1.5f,    INFINITY};
  for (size_t i = 0; i < ascending.size(); ++i) {
    EXPECT_EQ(f32::Bits(FromOrderedBits(OrderedBits(ascending[i]))), f32::Bits(ascending[i]));
    if (i == 0) continue;
    EXPECT_LT(OrderedBits(ascending[i - 1]), OrderedBits(ascending[i])) << i;
  }
}

TEST(DrawKeyTest, FindsWhatTheCpuFinds) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> logits(1 + random() % 50);
    for (float& logit : logits) logit = static_cast<float>(static_cast<int>(random() % 7) - 5);
    if (round % 2 == 0) logits[random() % logits.size()] = -0.0f;
    uint64_t best = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      best = std::max(best, DrawKey(logits[i], static_cast<uint32_t>(i)));
    }
    EXPECT_EQ(TokenOfDrawKey(best), ArgMax(logits));
  }
  EXPECT_EQ(TokenOfDrawKey(0), 0);
}

TEST(SplitInHalvesTest, KeepsTwentyTwoBits) {
  std::mt19937 random(6);
  std::uniform_real_distribution<float> uniform(1.0f, 2.0f);
  for (int i = 0; i < 10000; ++i) {
    const float x = (i % 2 == 0 ? 1.0f : -1.0f) * uniform(random);
    const TwoHalves halves = SplitInHalves(x);
    EXPECT_NEAR(f32::FromF16(halves.upper) + f32::FromF16(halves.lower), x, 0x1p-22f) << x;
  }
}

TEST(PowerOfTwoBelowTest, LeavesNumbersBetweenOneAndTwo) {
  for (const float x : {1.0f, 1.999f, 3.0f, 0.1f, 70000.0f, 1e-30f, 1e30f}) {
    const float unit = PowerOfTwoBelow(f32::Bits(x));
    EXPECT_EQ(f32::Bits(unit) & 0x7fffffu, 0u);
    EXPECT_GE(x * f32::Div(1.0f, unit), 1.0f) << x;
    EXPECT_LT(x * f32::Div(1.0f, unit), 2.0f) << x;
  }
  for (const float x : {0.0f, 1e-40f, 3e38f, INFINITY}) {
    EXPECT_EQ(PowerOfTwoBelow(f32::Bits(x)), 1.0f) << x;
  }
}

TEST(KvPageTest, LaysHeadsOneAfterTheOther) {
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kInt8}) {
    const KvLayer layer = {
        .format = format, .num_heads = 3, .key_size = 80, .value_size = 64, .offset = 512};
    int64_t expected = 512;
    for (int head = 0; head < 3; ++head) {
      EXPECT_EQ(layer.keys_offset(head), expected);
      expected += KvRunBytes(format, 80);
      EXPECT_EQ(layer.values_offset(head), expected);
      expected += KvRunBytes(format, 64);
    }
    EXPECT_EQ(layer.bytes(), expected - 512);
    EXPECT_EQ(KvRunBytes(format, 80) % 16, 0);
  }
  EXPECT_EQ(KvRunBytes(KvFormat::kInt8, 80), 64 * (80 + 3 * 4));
}

TEST(KvPageTest, ReadsARowOfAnyFormat) {
  constexpr int kSize = 40;
  std::vector<float> words(KvRunBytes(KvFormat::kF32, kSize) / 4);
  auto* const run = reinterpret_cast<std::byte*>(words.data());
  words[5 * kSize + 39] = 2.5f;
  EXPECT_EQ(LoadKvValue(KvFormat::kF32, run, kSize, 5, 39), 2.5f);
  reinterpret_cast<uint16_t*>(run)[63 * kSize + 1] = f32::ToF16(-0.75f);
  EXPECT_EQ(LoadKvValue(KvFormat::kF16, run, kSize, 63, 1), -0.75f);
  reinterpret_cast<int8_t*>(run)[7 * kSize + 33] = -100;
  reinterpret_cast<float*>(run + 64 * kSize)[7 * 2 + 1] = 0.125f;
  EXPECT_EQ(LoadKvValue(KvFormat::kInt8, run, kSize, 7, 33), -12.5f);
}

}  // namespace
}  // namespace strata
