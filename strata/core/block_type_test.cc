#include "strata/core/block_type.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(BlockTypeTest, FindsEveryTypeByItsId) {
  EXPECT_EQ(AllBlockTypes().size(), 35);
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    EXPECT_EQ(FindBlockType(static_cast<uint32_t>(info.type)), &info) << info.name;
  }
}

TEST(BlockTypeTest, KnowsNoWithdrawnOrForeignId) {
  for (uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 139u, 0xffffffffu}) {
    EXPECT_EQ(FindBlockType(id), nullptr) << id;
  }
}

TEST(BlockTypeTest, SaysBlocksOfKnownSizes) {
  EXPECT_EQ(InfoOf(BlockType::kQ4_K).name, "Q4_K");
  EXPECT_EQ(InfoOf(BlockType::kQ4_K).block_weights, 256);
  EXPECT_EQ(InfoOf(BlockType::kQ4_K).block_bytes, 144);
  EXPECT_EQ(InfoOf(BlockType::kMXFP4).block_bytes, 17);
}

}  // namespace
}  // namespace strata
