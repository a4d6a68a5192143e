#include "strata/cache/profile/profile_figures.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/testing/test_profile.h"

namespace strata {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using Point = CoverageCurve::Point;

// Experts of the first layer are 1024 bytes, of the second 1524.
TEST(CoverageCurveTest, AddsExpertsFromTheHottestOn) {
  const CoverageCurve curve(TestProfile({{1, 4}, {0, 3}}));
  EXPECT_THAT(curve.points(), ElementsAre(Point{0, 0}, Point{1024, 4}, Point{2548, 7},
                                          Point{3572, 8}, Point{5096, 8}));
  EXPECT_EQ(curve.Share(0), 0);
  EXPECT_EQ(curve.Share(1), 0.5);
  EXPECT_EQ(curve.Share(2), 0.875);
  EXPECT_EQ(curve.Share(3), 1);
  EXPECT_EQ(curve.Share(4), 1);
}

TEST(CoverageCurveTest, TakesAsManyAsFitIntoBytes) {
  const CoverageCurve curve(TestProfile({{1, 4}, {0, 3}}));
  EXPECT_EQ(curve.NumExpertsWithin(0), 0);
  EXPECT_EQ(curve.NumExpertsWithin(1023), 0);
  EXPECT_EQ(curve.NumExpertsWithin(1024), 1);
  // The third would fit, but the second, which is hotter, does not.
  EXPECT_EQ(curve.NumExpertsWithin(2547), 1);
  EXPECT_EQ(curve.NumExpertsWithin(2548), 2);
  EXPECT_EQ(curve.NumExpertsWithin(1 << 20), 4);
  EXPECT_EQ(curve.Share(curve.NumExpertsWithin(2548)), 0.875);
}

TEST(CoverageCurveTest, AProfileWithoutCountsPromisesNothing) {
  const CoverageCurve curve(TestProfile({{0, 0}, {0, 0}}));
  EXPECT_EQ(curve.Share(4), 0);
}

TEST(EntropyTest, IsExactForPowersOfTwo) {
  const ExpertProfile profile = TestProfile({{1, 1, 2, 4}, {2, 2, 2, 2}, {0, 8, 0, 0}});
  EXPECT_THAT(LayerEntropies(profile), ElementsAre(DoubleEq(1.75), DoubleEq(2), DoubleEq(0)));
  // Layers of equal totals: log2 of their number, and the mean of their own.
  EXPECT_NEAR(TotalEntropy(profile), std::log2(3.0) + (1.75 + 2 + 0) / 3, 1e-12);
}

TEST(EntropyTest, NothingCountedIsNothingToGuess) {
  EXPECT_EQ(TotalEntropy(TestProfile({{0, 0}})), 0);
  EXPECT_THAT(LayerEntropies(TestProfile({{0, 0}, {1, 0}})), ElementsAre(0, 0));
}

}  // namespace
}  // namespace strata
