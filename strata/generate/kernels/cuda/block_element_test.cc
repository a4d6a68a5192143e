#include "strata/generate/kernels/cuda/block_element.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/cuda/block_codes.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

TEST(BlockElementTest, DecodesEveryWeightOfEveryTypeAsARowIsDecoded) {
  std::mt19937 random(5);
  const BlockTables tables = MakeBlockTables();
  int num_types = 0;
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    if (!ActivationFormOf(info.type).has_value()) continue;
    ++num_types;
    constexpr int kWeights = 8 * 256;
    const std::vector<std::byte> row = RandomWeights(info.type, kWeights, random);
    std::vector<float> expected(kWeights);
    DecodeRow(info.type, row.data(), absl::MakeSpan(expected));
    const ElementFormat format = {info.type, info.block_weights, info.block_bytes};
    for (int i = 0; i < kWeights; ++i) {
      const float found =
          DecodeElement(tables, format, reinterpret_cast<const uint8_t*>(row.data()), i);
      ASSERT_EQ(f32::Bits(found), f32::Bits(expected[i])) << info.name << ", weight " << i;
    }
  }
  EXPECT_EQ(num_types, 28);
}

TEST(BlockElementTest, GivesZeroForATypeWithoutWeights) {
  const BlockTables tables = MakeBlockTables();
  const uint8_t bytes[64] = {1, 2, 3};
  EXPECT_EQ(DecodeElement(tables, {BlockType::kQ8_K, 256, 292}, bytes, 0), 0.0f);
}

}  // namespace
}  // namespace strata
