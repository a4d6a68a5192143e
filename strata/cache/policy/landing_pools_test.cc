#include "strata/cache/policy/landing_pools.h"

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(LandingPoolsTest, AClassOffersAShareOfItsSlotsAndAtLeastOne) {
  const LandingPools pools({0, 1, 0}, {0, 1, 0}, {100, 20}, 0.025);
  ASSERT_EQ(pools.num_classes(), 2);
  EXPECT_EQ(pools.num_offered(0), 2);
  EXPECT_EQ(pools.num_offered(1), 1);
  EXPECT_EQ(pools.NumOfferedBySize(0), 2);
}

TEST(LandingPoolsTest, TheOnlySlotOfAClassIsNotOffered) {
  EXPECT_EQ(LandingPools({0}, {0}, {1}, 0.5).num_offered(0), 0);
  EXPECT_EQ(LandingPools({0}, {0}, {2}, 0.9).num_offered(0), 1);
  EXPECT_EQ(LandingPools({0}, {0}, {0}, 0.5).num_offered(0), 0);
}

TEST(LandingPoolsTest, WithoutAShareNothingIsOffered) {
  EXPECT_EQ(LandingPools({0}, {0}, {100}, 0).num_offered(0), 0);
}

TEST(LandingPoolsTest, LayoutsOfOneSizeShareItsSlotsByLayers) {
  const LandingPools pools({0, 1, 0, 0}, {0, 0, 0, 0}, {400}, 0.02);
  EXPECT_EQ(pools.num_offered(0), 6);
  EXPECT_EQ(pools.num_offered(1), 2);
  EXPECT_EQ(pools.NumOfferedBySize(0), 8);
  // However few slots there are, one of the size at least holds a resident.
  const LandingPools few({0, 1, 2}, {0, 0, 0}, {3}, 0.02);
  EXPECT_EQ(few.NumOfferedBySize(0), 2);
}

TEST(LandingPoolsTest, TheFirstLayerGoesRound) {
  const LandingPools pools({0, 0, 0}, {0, 0, 0}, {100}, 0.1);
  EXPECT_EQ(pools.FirstLayer(0), 0);
  EXPECT_EQ(pools.FirstLayer(4), 1);
}

TEST(LandingPoolsTest, LayersBeforeTheFirstOneHaveTheirShareRoundedUp) {
  const LandingPools pools({0, 1, 0, 0, 0}, {0, 1, 0, 0, 0}, {100, 100}, 0.1);
  EXPECT_EQ(pools.NumEarly(0, 0, 10), 0);
  EXPECT_EQ(pools.NumEarly(0, 1, 10), 3) << "one layer of four";
  EXPECT_EQ(pools.NumEarly(0, 2, 10), 3) << "the layer between is of the other class";
  EXPECT_EQ(pools.NumEarly(0, 4, 10), 8);
  EXPECT_EQ(pools.NumEarly(0, 4, 0), 0);
  EXPECT_EQ(pools.NumEarly(1, 1, 10), 0);
  EXPECT_EQ(pools.NumEarly(1, 2, 10), 10);
}

}  // namespace
}  // namespace strata
