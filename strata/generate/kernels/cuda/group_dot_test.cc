// The arithmetic of the device's product kernels, compiled for the host.
#include "strata/generate/kernels/cuda/group_dot.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

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

GroupVector VectorOf(const ActivationView& x, int64_t begin) {
  return {.q = reinterpret_cast<const uint8_t*>(x.q + begin),
          .scales = reinterpret_cast<const uint8_t*>(x.scales + begin / BlockSizeOf(x.form)),
          .sums = reinterpret_cast<const uint8_t*>(x.sums + begin / SumSizeOf(x.form))};
}

// Groups one after the other, as the threads of a kernel compute them side by side.
template <BlockType kType>
void SumOfGroups(const std::byte* memory, int row_offset, const ActivationView (&xs)[2],
                 float (&results)[2]) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(memory);
  const int64_t columns = xs[0].size;
  results[0] = results[1] = 0.0f;
  for (int64_t begin = 0; begin < columns; begin += kGroupWeights) {
    const GroupVector x[2] = {VectorOf(xs[0], begin), VectorOf(xs[1], begin)};
    const int num_weights = static_cast<int>(std::min<int64_t>(kGroupWeights, columns - begin));
    const auto offset =
        static_cast<uint32_t>(row_offset + begin / 256 * GroupFormatOf(kType).group_bytes);
    float groups[2];
    if (offset % 16 == 0) {
      GroupDot<kType>(GroupBytes<true>(bytes, offset), num_weights, GridOf(kType), x, groups);
    } else {
      GroupDot<kType>(GroupBytes<false>(bytes, offset), num_weights, GridOf(kType), x, groups);
    }
    for (int v = 0; v < 2; ++v) results[v] = f32::Add(results[v], groups[v]);
  }
}

template <BlockType kType>
void ExpectTheBitsOfRowDot(int64_t columns) {
  std::mt19937 random(static_cast<uint32_t>(columns));
  const BlockTypeInfo& info = InfoOf(kType);
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<std::byte> row = RandomWeights(kType, columns, random);
    const int offset = trial % 16;
    std::vector<std::byte> memory(row.size() + 48);  // Whole words are read.
    std::copy(row.begin(), row.end(), memory.begin() + offset);
    ActivationBuffer buffers[2];
    ActivationView xs[2];
    for (int v = 0; v < 2; ++v) {
      ASSERT_TRUE(buffers[v].Assign(*ActivationFormOf(kType), RandomActivations(columns, random)));
      xs[v] = buffers[v].view();
    }
    float results[2];
    SumOfGroups<kType>(memory.data(), offset, xs, results);
    for (int v = 0; v < 2; ++v) {
      const float expected = RowDot(kType, row.data(), xs[v]);
      ASSERT_EQ(std::memcmp(&results[v], &expected, sizeof(float)), 0)
          << info.name << ", trial " << trial << ": " << results[v] << " for " << expected;
    }
  }
}

TEST(GroupDotTest, HasTheBitsOfRowDotForTypesThatMeetBlocksOf256) {
  ExpectTheBitsOfRowDot<BlockType::kQ2_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kQ3_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kQ4_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kQ5_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kQ6_K>(768);
  ExpectTheBitsOfRowDot<BlockType::kIQ4_XS>(768);
  ExpectTheBitsOfRowDot<BlockType::kTQ1_0>(768);
  ExpectTheBitsOfRowDot<BlockType::kTQ2_0>(768);
}

TEST(GroupDotTest, HasTheBitsOfRowDotForTypesWithGrids) {
  ExpectTheBitsOfRowDot<BlockType::kIQ2_XXS>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ2_XS>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ2_S>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ3_XXS>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ3_S>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ1_S>(512);
  ExpectTheBitsOfRowDot<BlockType::kIQ1_M>(512);
}

TEST(GroupDotTest, HasTheBitsOfRowDotForTypesThatMeetBlocksOf32AndForShortLastGroups) {
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

TEST(GroupDotTest, KnowsTheBytesOfEveryType) {
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    if (!ActivationFormOf(info.type).has_value()) continue;
    const GroupFormat format = GroupFormatOf(info.type);
    const int weights = format.kind == WeightKind::kNumbers ? 1 : kGroupWeights;
    EXPECT_EQ(format.group_bytes, weights / info.block_weights * info.block_bytes) << info.name;
  }
}

}  // namespace
}  // namespace strata
