// The arithmetic of the prompt kernels' integers, compiled for the host: unpacked bytes, factors
// and mins, put together as the kernels do.
#include "strata/generate/kernels/cuda/prompt_format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/half_products.h"
#include "strata/generate/kernels/cuda/prompt_split.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int32_t kBorderBits = 0x4b400000;
constexpr float kBorder = 12582912.0f;

const uint32_t* GridOf(BlockType type) {
  switch (type) {
    case BlockType::kIQ2_XXS:
      return reinterpret_cast<const uint32_t*>(kGridIq2xxs);
    case BlockType::kIQ2_XS:
      return reinterpret_cast<const uint32_t*>(kGridIq2xs);
    case BlockType::kIQ2_S:
      return reinterpret_cast<const uint32_t*>(kGridIq2s);
    case BlockType::kIQ3_XXS:
      return reinterpret_cast<const uint32_t*>(kGridIq3xxs);
    case BlockType::kIQ3_S:
      return reinterpret_cast<const uint32_t*>(kGridIq3s);
    case BlockType::kIQ1_S:
    case BlockType::kIQ1_M:
      return reinterpret_cast<const uint32_t*>(kGridIq1s);
    default:
      return nullptr;
  }
}

// `count` words of bytes.
int32_t DotOfWords(const uint32_t* words, const int8_t* q, int count) {
  int32_t sum = 0;
  for (int i = 0; i < 4 * count; ++i) sum += packed::SignedByte(words[i / 4], i % 4) * q[i];
  return sum;
}

// As an accumulator that starts at the bits of kBorder gives it.
float FloatOf(const PromptFormat& format, int32_t integer) {
  if (!format.is_small) return f32::FromInt(integer);
  const float moved = f32::FromBits(static_cast<uint32_t>(kBorderBits + integer));
  return format.is_negated ? f32::Sub(kBorder, moved) : f32::Sub(moved, kBorder);
}

template <BlockType kType>
float ChainOf256(const uint8_t* memory, uint32_t offset, const ActivationView& x, int64_t begin) {
  constexpr PromptFormat kFormat = PromptFormatOf(kType);
  const GroupBytes<false> bytes(memory, offset);
  Format256<kType> format(bytes, GridOf(kType));
  int32_t integer = 0;
  for (int s = 0; s < 8; ++s) {
    PromptWords words;
    UnpackForPrompt<kType>(bytes, format, s, words);
    const int8_t* const q = x.q + begin + 32 * s;
    if (kFormat.chain == PromptChain::kFactors16) {
      integer += words.factor[0] * DotOfWords(words.word, q, 4);
      integer += words.factor[1] * DotOfWords(words.word + 4, q + 16, 4);
    } else if (kFormat.chain == PromptChain::kFactors32) {
      integer += words.factor[0] * DotOfWords(words.word, q, 8);
    } else {
      integer += DotOfWords(words.word, q, 8);
    }
  }
  const float da = x.scales[begin / 256];
  float chain = f32::Fma(f32::Mul(format.scale, da), FloatOf(kFormat, integer), 0.0f);
  if constexpr (kFormat.has_mins) {
    const PromptMins mins = MinsForPrompt<kType>(bytes);
    int32_t high = 0, low = 0;
    for (int i = 0; i < 16; ++i) {
      const SumDigits digits = DigitsOfSum(x.sums[begin / 16 + i]);
      EXPECT_TRUE(-32 <= digits.low && digits.low < 32 && -32 <= digits.high && digits.high <= 32);
      high += packed::SignedByte(mins.word[i / 4], i % 4) * digits.high;
      low += packed::SignedByte(mins.word[i / 4], i % 4) * digits.low;
    }
    chain = f32::Fma(
        f32::Mul(format.min_scale, da),
        f32::Sub(f32::FromBits(static_cast<uint32_t>(kBorderBits + 64 * high + low)), kBorder),
        chain);
  }
  return chain;
}

template <BlockType kType>
float ChainOf32(const uint8_t* memory, uint32_t offset, const ActivationView& x, int64_t begin) {
  constexpr PromptFormat kFormat = PromptFormatOf(kType);
  const GroupBytes<false> bytes(memory, offset);
  const int blocks = static_cast<int>(std::min<int64_t>(8, (x.size - begin) / 32));
  float chain = 0.0f;
  for (int i = 0; i < blocks; ++i) {
    PromptBlock block;
    UnpackForPrompt<kType>(bytes, i, block);
    const int8_t* const q = x.q + begin + 32 * i;
    const float da = x.scales[begin / 32 + i];
    if (kFormat.chain == PromptChain::kBlocks16) {
      for (int half = 0; half < 2; ++half) {
        const int32_t integer = DotOfWords(block.word + 4 * half, q + 16 * half, 4);
        chain = f32::Fma(f32::Mul(block.scale[half], da), FloatOf(kFormat, integer), chain);
      }
      continue;
    }
    const int32_t integer = DotOfWords(block.word, q, 8);
    chain = f32::Fma(f32::Mul(block.scale[0], da), FloatOf(kFormat, integer), chain);
    if constexpr (kFormat.has_mins) {
      const float sum = f32::FromInt(x.sums[begin / 32 + i]);
      chain = f32::Fma(f32::Mul(block.scale[1], da), sum, chain);
    }
  }
  return chain;
}

template <BlockType kType>
float SumOfGroups(const std::vector<std::byte>& row, const ActivationView& x) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(row.data());
  float sum = 0.0f;
  for (int64_t begin = 0; begin < x.size; begin += 256) {
    const auto offset = static_cast<uint32_t>(begin / 256 * GroupFormatOf(kType).group_bytes);
    if constexpr (MeetsA32(PromptFormatOf(kType).chain)) {
      sum = f32::Add(sum, ChainOf32<kType>(bytes, offset, x, begin));
    } else {
      sum = f32::Add(sum, ChainOf256<kType>(bytes, offset, x, begin));
    }
  }
  return sum;
}

// Activations at the ends of their range, where integers are greatest.
std::vector<float> ExtremeActivations(int64_t size, std::mt19937& random) {
  std::vector<float> x(size);
  const bool one_sign = random() % 2 == 0;
  for (float& value : x) value = one_sign || random() % 2 == 0 ? 1.0f : -1.0f;
  return x;
}

template <BlockType kType>
void ExpectTheBitsOfRowDot(int64_t columns) {
  std::mt19937 random(static_cast<uint32_t>(columns));
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::byte> row = RandomWeights(kType, columns, random);
    const ScaleOffsets scales = ScaleOffsetsOf(kType);
    if (trial % 4 == 3 && scales.scale >= 0) {  // All codes and scales of sub-blocks alike.
      const int block_bytes = InfoOf(kType).block_bytes;
      const auto code = static_cast<std::byte>(trial % 8 == 3 ? 0xff : random());
      for (size_t i = 0; i < row.size(); ++i) {
        const int at = static_cast<int>(i) % block_bytes;
        if (at / 2 != scales.scale / 2 &&
            (scales.min_scale < 0 || at / 2 != scales.min_scale / 2)) {
          row[i] = code;
        }
      }
    }
    row.resize(row.size() + 16);  // Whole words are read.
    ActivationBuffer buffer;
    const std::vector<float> values =
        trial % 3 == 2 ? ExtremeActivations(columns, random) : RandomActivations(columns, random);
    ASSERT_TRUE(buffer.Assign(*ActivationFormOf(kType), values));
    const float result = SumOfGroups<kType>(row, buffer.view());
    const float expected = RowDot(kType, row.data(), buffer.view());
    ASSERT_EQ(std::memcmp(&result, &expected, sizeof(float)), 0)
        << InfoOf(kType).name << ", trial " << trial << ": " << result << " for " << expected;
  }
}

TEST(PromptFormatTest, HasTheBitsOfRowDotForTypesThatMeetBlocksOf256) {
  ExpectTheBitsOfRowDot<BlockType::kQ2_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kQ3_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kQ4_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kQ5_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kQ6_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kIQ4_XS>(768);
  ExpectTheBitsOfRowDot<BlockType::kTQ1_0>(768);
  ExpectTheBitsOfRowDot<BlockType::kTQ2_0>(768);
}

TEST(PromptFormatTest, HasTheBitsOfRowDotForTypesWithGrids) {
  ExpectTheBitsOfRowDot<BlockType::kIQ2_XXS>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ2_XS>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ2_S>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ3_XXS>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ3_S>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ1_S>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ1_M>(512);
}

TEST(PromptFormatTest, HasTheBitsOfRowDotForTypesThatMeetBlocksOf32AndForShortLastGroups) {
  for (const int64_t columns : {512, 640}) {
    ExpectTheBitsOfRowDot<BlockType::kQ4_0>(columns + 32);
    ExpectTheBitsOfRowDot<BlockType::kQ4_1>(columns + 32);
    ExpectTheBitsOfRowDot<BlockType::kQ5_0>(columns + 32);
    ExpectTheBitsOfRowDot<BlockType::kQ5_1>(columns + 32);
    ExpectTheBitsOfRowDot<BlockType::kQ8_0>(columns + 32);
    ExpectTheBitsOfRowDot<BlockType::kIQ4_NL>(columns + 32);
    ExpectTheBitsOfRowDot<BlockType::kMXFP4>(columns + 32);
    ExpectTheBitsOfRowDot<BlockType::kNVFP4>(columns + 64);
    ExpectTheBitsOfRowDot<BlockType::kQ1_0>(columns);
    ExpectTheBitsOfRowDot<BlockType::kQ2_0>(columns + 64);
  }
}

TEST(PromptFormatTest, SplitsEverySumOf16Codes) {
  for (int32_t sum = -16 * 127; sum <= 16 * 127; ++sum) {
    const SumDigits digits = DigitsOfSum(sum);
    EXPECT_EQ(64 * digits.high + digits.low, sum);
    EXPECT_TRUE(-32 <= digits.high && digits.high <= 32) << sum;
    EXPECT_TRUE(-32 <= digits.low && digits.low <= 31) << sum;
  }
}

TEST(PromptFormatTest, SubtractsBytesWithoutBorrowing) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const uint32_t left = static_cast<uint32_t>(a) * 0x00010001u | 0xff00ff00u;
      const uint32_t right = static_cast<uint32_t>(b) * 0x00010001u | 0x01000100u;
      const uint32_t expected = (static_cast<uint32_t>(a - b) & 255u) * 0x00010001u | 0xfe00fe00u;
      ASSERT_EQ(packed::SubtractBytes(left, right) & 0xff00ffffu, expected & 0xff00ffffu);
    }
  }
}

TEST(PromptFormatTest, SplitsFloatsIntoTermsThatAddUp) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 100000; ++trial) {
    const float x = RandomActivations(1, random)[0];
    const ThreeBfloats three = SplitBfloats(x);
    const float sum = f32::Add(f32::Add(f32::FromBf16(three.term[2]), f32::FromBf16(three.term[1])),
                               f32::FromBf16(three.term[0]));
    ASSERT_EQ(sum, x);
    const PowerOfTwo power = PowerFor(f32::MagnitudeBits(x));
    ASSERT_EQ(f32::Mul(power.down, power.up), 1.0f);
    const float moved = f32::Mul(x, power.down);
    ASSERT_LT(std::fabs(moved), 0x1p15f);
    const TwoHalves two = SplitInHalves(moved);
    const double both = double{f32::FromF16(two.upper)} + double{f32::FromF16(two.lower)};
    ASSERT_LE(std::fabs(both - moved), std::fabs(moved) * 0x1p-22) << x;
  }
}

TEST(PromptFormatTest, FindsPowersOfTwoForEveryMagnitude) {
  for (const float x :
       {0.0f, 0x1p-149f, 0x1p-126f, 0x1p-100f, 1.0f, 0x1.fffffep14f, 0x1p15f, 0x1.fffffep127f}) {
    const PowerOfTwo power = PowerFor(f32::MagnitudeBits(x));
    EXPECT_EQ(f32::Mul(power.down, power.up), 1.0f) << x;
    EXPECT_LT(f32::Mul(x, power.down), 0x1p15f) << x;
  }
}

}  // namespace
}  // namespace strata
