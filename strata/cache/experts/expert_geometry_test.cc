#include "strata/cache/experts/expert_geometry.h"

#include "gtest/gtest.h"

namespace strata {
namespace {

// Blocks 0 and 2 are dense.
ExpertGeometry Sample() {
  return ExpertGeometry({{.block = 1, .blob_bytes = 512, .expert_bytes = 500},
                         {.block = 3, .blob_bytes = 768, .expert_bytes = 700},
                         {.block = 4, .blob_bytes = 512, .expert_bytes = 500}},
                        /*num_experts=*/8, /*num_used=*/2);
}

TEST(ExpertGeometryTest, NumbersExpertsLayerByLayer) {
  const ExpertGeometry geometry = Sample();
  ASSERT_EQ(geometry.size(), 24);
  EXPECT_EQ(geometry.NumberOf({.layer = 1, .index = 0}), 0);
  EXPECT_EQ(geometry.NumberOf({.layer = 3, .index = 5}), 13);
  for (int number = 0; number < geometry.size(); ++number) {
    EXPECT_EQ(geometry.NumberOf(geometry.IdOf(number)), number);
  }
}

TEST(ExpertGeometryTest, KnowsWhichExpertsThereAre) {
  const ExpertGeometry geometry = Sample();
  EXPECT_TRUE(geometry.Has({.layer = 4, .index = 7}));
  EXPECT_FALSE(geometry.Has({.layer = 4, .index = 8}));
  EXPECT_FALSE(geometry.Has({.layer = 4, .index = -1}));
  EXPECT_FALSE(geometry.Has({.layer = 2, .index = 0}));
  EXPECT_FALSE(geometry.Has({.layer = 5, .index = 0}));
}

TEST(ExpertGeometryTest, AddsUpBlobsOfDifferentSizes) {
  EXPECT_EQ(Sample().total_blob_bytes(), 8 * (512 + 768 + 512));
  EXPECT_EQ(Sample().BlobBytes(13), 768);
}

TEST(ExpertGeometryTest, DescribesItselfForMessages) {
  EXPECT_EQ(Sample().Describe(), "3 layers (1 to 4) of 8 experts, 2 used");
  EXPECT_EQ(ExpertGeometry().Describe(), "no experts");
}

}  // namespace
}  // namespace strata
