#include "strata/generate/kernels/row_dot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"

namespace strata {
namespace {

// What the order of computation says of each type: `step` is the part of the scale that is a power
// of two, `max_integer` and `max_min` the largest magnitudes of I and M.
struct TypeRule {
  BlockType type;
  int block;
  ActivationForm form;
  double step;
  int64_t max_integer;
  int64_t max_min;
};

constexpr TypeRule kRules[] = {
    {BlockType::kQ4_0, 32, ActivationForm::kA32, 1, 32512, 0},
    {BlockType::kQ5_0, 32, ActivationForm::kA32, 1, 65024, 0},
    {BlockType::kQ8_0, 32, ActivationForm::kA32, 1, 520192, 0},
    {BlockType::kQ4_1, 32, ActivationForm::kA32, 1, 60960, 4064},
    {BlockType::kQ5_1, 32, ActivationForm::kA32, 1, 125984, 4064},
    {BlockType::kIQ4_NL, 32, ActivationForm::kA32, 1, 516128, 0},
    {BlockType::kMXFP4, 32, ActivationForm::kA32, 1, 48768, 0},
    {BlockType::kNVFP4, 16, ActivationForm::kA32, 1, 24384, 0},
    {BlockType::kQ1_0, 32, ActivationForm::kA32, 1, 4064, 0},
    {BlockType::kQ2_0, 32, ActivationForm::kA32, 1, 8128, 0},
    {BlockType::kQ2_K, 256, ActivationForm::kA256, 1, 1463040, 487680},
    {BlockType::kQ3_K, 256, ActivationForm::kA256, 1, 4161536, 0},
    {BlockType::kQ4_K, 256, ActivationForm::kA256, 1, 30723840, 2048256},
    {BlockType::kQ5_K, 256, ActivationForm::kA256, 1, 63495936, 2048256},
    {BlockType::kQ6_K, 256, ActivationForm::kA256, 1, 133169152, 0},
    {BlockType::kIQ2_XXS, 256, ActivationForm::kA256, 0.125, 43338496, 0},
    {BlockType::kIQ2_XS, 256, ActivationForm::kA256, 0.125, 43338496, 0},
    {BlockType::kIQ2_S, 256, ActivationForm::kA256, 0.125, 43338496, 0},
    {BlockType::kIQ3_XXS, 256, ActivationForm::kA256, 0.25, 62488064, 0},
    {BlockType::kIQ3_S, 256, ActivationForm::kA256, 1, 15118080, 0},
    {BlockType::kIQ4_XS, 256, ActivationForm::kA256, 1, 132128768, 0},
    {BlockType::kIQ1_S, 256, ActivationForm::kA256, 0.125, 4389120, 0},
    {BlockType::kIQ1_M, 256, ActivationForm::kA256, 0.125, 4389120, 0},
    {BlockType::kTQ1_0, 256, ActivationForm::kA256, 1, 32512, 0},
    {BlockType::kTQ2_0, 256, ActivationForm::kA256, 1, 65024, 0},
};

double HalfAt(const std::byte* bytes) {
  std::vector<float> value(1);
  DecodeRow(BlockType::kF16, bytes, absl::MakeSpan(value));
  return value[0];
}

// s of the rule's block `index` of a row.
double ScaleOf(const TypeRule& rule, const std::byte* row, int index) {
  const BlockTypeInfo& info = InfoOf(rule.type);
  const int blocks_inside = info.block_weights / rule.block;
  const std::byte* block = row + index / blocks_inside * info.block_bytes;
  if (rule.type == BlockType::kMXFP4) return std::exp2(static_cast<int>(block[0]) - 128.0);
  if (rule.type == BlockType::kNVFP4) {
    const int code = static_cast<int>(block[index % blocks_inside]);
    if (code == 127) return 0.0;
    const int exponent = code >> 3 & 15;
    const double fraction = (code & 7) / 8.0;
    return 0.5 * (exponent == 0 ? std::exp2(-6.0) * fraction
                                : std::exp2(exponent - 7.0) * (1.0 + fraction));
  }
  if (rule.type == BlockType::kIQ1_M) {
    std::byte half[2];
    for (int i = 0; i < 2; ++i) {
      half[i] = block[49 + 4 * i] >> 4 | (block[51 + 4 * i] & std::byte{0xf0});
    }
    return rule.step * HalfAt(half);
  }
  return rule.step * HalfAt(block + ScaleOffsetsOf(rule.type).scale);
}

// The row with one of its two scales zero everywhere.
std::vector<std::byte> WithZeroAt(const TypeRule& rule, std::vector<std::byte> row, int offset) {
  const int block_bytes = InfoOf(rule.type).block_bytes;
  for (size_t block = 0; block < row.size(); block += block_bytes) {
    row[block + offset] = row[block + offset + 1] = std::byte{0};
  }
  return row;
}

// The integers of a row, found from its decoded values: each is a scale times an integer, exactly.
std::vector<int64_t> IntegersOf(const TypeRule& rule, const std::vector<std::byte>& row,
                                const std::vector<double>& scales, int columns) {
  std::vector<float> decoded(columns);
  DecodeRow(rule.type, row.data(), absl::MakeSpan(decoded));
  std::vector<int64_t> integers(columns);
  for (int i = 0; i < columns; ++i) {
    const double scale = scales[i / rule.block];
    if (scale == 0.0) continue;
    integers[i] = std::llround(decoded[i] / scale);
    EXPECT_EQ(integers[i] * scale, decoded[i]) << InfoOf(rule.type).name << " weight " << i;
  }
  return integers;
}

struct RowIntegers {
  std::vector<double> scales;      // One a block.
  std::vector<int64_t> weights;    // One a weight.
  std::vector<double> min_scales;  // As above, where the type has minimums.
  std::vector<int64_t> mins;
};

RowIntegers Take(const TypeRule& rule, const std::vector<std::byte>& row, int columns) {
  RowIntegers result;
  const ScaleOffsets offsets = ScaleOffsetsOf(rule.type);
  const BlockTypeInfo& info = InfoOf(rule.type);
  for (int b = 0; b < columns / rule.block; ++b) {
    result.scales.push_back(ScaleOf(rule, row.data(), b));
  }
  if (rule.max_min == 0) {
    result.weights = IntegersOf(rule, row, result.scales, columns);
    return result;
  }
  const double sign = rule.form == ActivationForm::kA256 ? -1.0 : 1.0;  // m = -dmin.
  for (int b = 0; b < columns / rule.block; ++b) {
    result.min_scales.push_back(sign * HalfAt(&row[b * info.block_bytes + offsets.min_scale]));
  }
  result.weights =
      IntegersOf(rule, WithZeroAt(rule, row, offsets.min_scale), result.scales, columns);
  result.mins = IntegersOf(rule, WithZeroAt(rule, row, offsets.scale), result.min_scales, columns);
  return result;
}

int64_t DotOfBlock(const std::vector<int64_t>& integers, const ActivationView& x, int begin,
                   int n) {
  int64_t sum = 0;
  for (int i = begin; i < begin + n; ++i) sum += integers[i] * x.q[i];
  return sum;
}

float ExpectedDot(const TypeRule& rule, const RowIntegers& row, const ActivationView& x) {
  float total = 0.0f;
  float group = 0.0f;
  for (int begin = 0; begin < x.size; begin += rule.block) {
    if (begin > 0 && begin % 256 == 0) {
      total += group;
      group = 0.0f;
    }
    const int b = begin / rule.block;
    const float da = x.scales[rule.form == ActivationForm::kA256 ? begin / 256 : begin / 32];
    const auto integer = static_cast<float>(DotOfBlock(row.weights, x, begin, rule.block));
    group = std::fma(static_cast<float>(row.scales[b]) * da, integer, group);
    if (row.mins.empty()) continue;
    const auto min = static_cast<float>(DotOfBlock(row.mins, x, begin, rule.block));
    group = std::fma(static_cast<float>(row.min_scales[b]) * da, min, group);
  }
  return total + group;
}

// Compared as bits.
void ExpectSameBits(float found, float expected, const std::string& what) {
  EXPECT_EQ(std::memcmp(&found, &expected, sizeof(float)), 0)
      << what << ": " << found << " is not " << expected;
}

TEST(RowDotTest, HasARuleForEveryQuantizedTypeOfWeights) {
  int num_types = 0;
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    const auto form = ActivationFormOf(info.type);
    num_types += form.has_value() && *form != ActivationForm::kF32;
  }
  EXPECT_EQ(num_types, std::size(kRules));
}

TEST(RowDotTest, FollowsTheOrderOfComputationInEveryType) {
  std::mt19937 random(5);
  ActivationBuffer activations;
  for (const TypeRule& rule : kRules) {
    const BlockTypeInfo& info = InfoOf(rule.type);
    EXPECT_EQ(ActivationFormOf(rule.type), rule.form) << info.name;
    // The last group is a short one where the block allows it.
    const int columns = info.block_weights == 256 ? 1024 : 768 + info.block_weights;
    for (int round = 0; round < 20; ++round) {
      const std::vector<std::byte> row = RandomWeights(rule.type, columns, random);
      const std::vector<float> x = RandomActivations(columns, random);
      ASSERT_TRUE(activations.Assign(rule.form, x));
      ExpectSameBits(RowDot(rule.type, row.data(), activations.view()),
                     ExpectedDot(rule, Take(rule, row, columns), activations.view()),
                     std::string(info.name));
    }
  }
}

// Rows of one repeated byte, and random ones, around scales that stay.
std::vector<std::vector<std::byte>> ExtremeRows(BlockType type, int columns, std::mt19937& random) {
  const BlockTypeInfo& info = InfoOf(type);
  const ScaleOffsets offsets = ScaleOffsetsOf(type);
  std::vector<std::vector<std::byte>> rows;
  for (int byte = 0; byte < 256; ++byte) {
    std::vector<std::byte> row = RandomWeights(type, columns, random);
    for (size_t i = 0; i < row.size(); ++i) {
      const int at = static_cast<int>(i % info.block_bytes);
      const bool in_scale = (offsets.scale >= 0 && at / 2 == offsets.scale / 2) ||
                            (offsets.min_scale >= 0 && at / 2 == offsets.min_scale / 2) ||
                            (type == BlockType::kMXFP4 && at == 0) ||
                            (type == BlockType::kIQ1_M && at >= 48);
      if (!in_scale) row[i] = static_cast<std::byte>(byte);
    }
    rows.push_back(row);
    rows.push_back(RandomWeights(type, columns, random));
  }
  return rows;
}

// Sum of |integers| of the heaviest block, times the largest activation.
int64_t LargestDot(const std::vector<int64_t>& integers, int block) {
  int64_t largest = 0;
  for (size_t begin = 0; begin < integers.size(); begin += block) {
    int64_t sum = 0;
    for (size_t i = begin; i < begin + block; ++i) sum += std::abs(integers[i]) * 127;
    largest = std::max(largest, sum);
  }
  return largest;
}

TEST(RowDotTest, KeepsIntegersWithinTheStatedMagnitudes) {
  std::mt19937 random(6);
  for (const TypeRule& rule : kRules) {
    int64_t largest = 0;
    int64_t largest_min = 0;
    const int columns = 256;
    for (const std::vector<std::byte>& row : ExtremeRows(rule.type, columns, random)) {
      const RowIntegers integers = Take(rule, row, columns);
      largest = std::max(largest, LargestDot(integers.weights, rule.block));
      if (rule.max_min > 0) {
        largest_min = std::max(largest_min, LargestDot(integers.mins, rule.block));
      }
    }
    EXPECT_LE(largest, rule.max_integer) << InfoOf(rule.type).name;
    EXPECT_GT(largest, rule.max_integer / 2) << InfoOf(rule.type).name;
    EXPECT_EQ(largest_min, rule.max_min) << InfoOf(rule.type).name;
  }
}

TEST(RowDotTest, RoundsIntegersBeyond24BitsToNearestEven) {
  // Q6_K: codes of 63 (31 after the shift) under scales of 127, met by activations of 127 and one
  // of 126: an integer of 28 bits.
  std::vector<std::byte> block(210, std::byte{0xff});
  for (int i = 192; i < 208; ++i) block[i] = std::byte{127};
  block[208] = std::byte{0x00};  // d = 1
  block[209] = std::byte{0x3c};
  std::vector<float> x(256, 127.0f);
  x[9] = 126.0f;
  ActivationBuffer activations;
  ASSERT_TRUE(activations.Assign(ActivationForm::kA256, x));
  const double integer = 127.0 * 31 * (255 * 127 + 126);
  const float expected = activations.view().scales[0] * static_cast<float>(integer);
  ASSERT_NE(static_cast<float>(integer), integer);
  EXPECT_EQ(RowDot(BlockType::kQ6_K, block.data(), activations.view()), expected);
}

TEST(RowDotTest, SumsPlainNumbersInTheAccumulators) {
  std::mt19937 random(7);
  for (BlockType type : {BlockType::kF32, BlockType::kF16, BlockType::kBF16}) {
    const int columns = 300;
    const std::vector<std::byte> row = RandomWeights(type, columns, random);
    const std::vector<float> x = RandomActivations(columns, random);
    std::vector<float> w(columns);
    DecodeRow(type, row.data(), absl::MakeSpan(w));
    float sums[128] = {};
    for (int i = 0; i < columns; ++i) sums[i & 127] = std::fma(w[i], x[i], sums[i & 127]);
    for (int width : {64, 32, 16, 8, 4, 2, 1}) {
      for (int j = 0; j < width; ++j) sums[j] += sums[j + width];
    }
    ActivationBuffer activations;
    ASSERT_TRUE(activations.Assign(ActivationForm::kF32, x));
    ExpectSameBits(RowDot(type, row.data(), activations.view()), sums[0],
                   std::string(InfoOf(type).name));
  }
}

TEST(RowDotTest, GivesTheSameBitsAloneAndInACrowd) {
  constexpr int kVectors = 150;
  std::mt19937 random(8);
  for (BlockType type : {BlockType::kQ4_K, BlockType::kNVFP4, BlockType::kF16}) {
    const std::vector<std::byte> row = RandomWeights(type, 512, random);
    std::vector<std::vector<float>> values(kVectors);
    std::vector<ActivationBuffer> buffers(kVectors);
    std::vector<ActivationView> views;
    for (int v = 0; v < kVectors; ++v) {
      values[v] = RandomActivations(512, random);
      ASSERT_TRUE(buffers[v].Assign(*ActivationFormOf(type), values[v]));
      views.push_back(buffers[v].view());
    }
    std::vector<float> results(kVectors);
    RowDots(type, row.data(), views, absl::MakeSpan(results));
    for (int v = 0; v < kVectors; ++v) {
      ExpectSameBits(results[v], RowDot(type, row.data(), views[v]), std::to_string(v));
    }
  }
}

TEST(RowDotTest, ShowsAScaleThatIsNotFinite) {
  std::mt19937 random(9);
  ActivationBuffer activations;
  for (bool zero_activations : {false, true}) {
    std::vector<float> x = RandomActivations(512, random);
    if (zero_activations) std::fill(x.begin(), x.end(), 0.0f);
    for (uint16_t bad : {0x7c00, 0xfc00, 0x7e00}) {
      for (BlockType type : {BlockType::kQ4_0, BlockType::kQ4_K}) {
        std::vector<std::byte> row = RandomWeights(type, 512, random);
        std::memcpy(&row[InfoOf(type).block_bytes], &bad, sizeof(bad));
        ASSERT_TRUE(activations.Assign(*ActivationFormOf(type), x));
        EXPECT_FALSE(std::isfinite(RowDot(type, row.data(), activations.view())));
      }
    }
  }
}

TEST(RowDotTest, KnowsTypesThatAreNoWeights) {
  for (BlockType type : {BlockType::kQ8_1, BlockType::kQ8_K, BlockType::kF64, BlockType::kI8,
                         BlockType::kI16, BlockType::kI32, BlockType::kI64}) {
    EXPECT_FALSE(ActivationFormOf(type).has_value()) << InfoOf(type).name;
  }
}

}  // namespace
}  // namespace strata
