#include "strata/cache/profile/cache_forecast.h"

#include "gtest/gtest.h"
#include "strata/cache/testing/test_profile.h"

namespace strata {
namespace {

// Experts of the first layer are 1000 bytes, of the second 1500; a token uses one of each.
TEST(CacheForecastTest, WeighsExpertsByTheirCounts) {
  const CacheForecast forecast = ForecastOf(TestProfile({{6, 2}, {4, 4}}, 8), {0, 3});
  EXPECT_DOUBLE_EQ(forecast.hit_rate, 10.0 / 16);
  EXPECT_DOUBLE_EQ(forecast.hit_bytes, 0.75 * 1000 + 0.5 * 1500);
  EXPECT_DOUBLE_EQ(forecast.miss_bytes, 0.25 * 1000 + 0.5 * 1500);
}

TEST(CacheForecastTest, NoneAndAllAreTheEnds) {
  const ExpertProfile profile = TestProfile({{6, 2}, {4, 4}}, 8);
  EXPECT_EQ(ForecastOf(profile, {}).hit_rate, 0);
  EXPECT_DOUBLE_EQ(ForecastOf(profile, {}).miss_bytes, 2500);
  EXPECT_DOUBLE_EQ(ForecastOf(profile, {0, 1, 2, 3}).hit_rate, 1);
  EXPECT_EQ(ForecastOf(profile, {0, 1, 2, 3}).miss_bytes, 0);
}

TEST(CacheForecastTest, KnowingNothingAllExpertsAreUsedAlike) {
  const ExpertGeometry geometry = TestIdentity(2, 4, 2).geometry;
  const CacheForecast forecast = ForecastOf(geometry, {0, 1, 2, 4});
  EXPECT_DOUBLE_EQ(forecast.hit_rate, 0.5);
  EXPECT_DOUBLE_EQ(forecast.hit_bytes, 1.5 * 1000 + 0.5 * 1500);
  EXPECT_DOUBLE_EQ(forecast.miss_bytes, 0.5 * 1000 + 1.5 * 1500);
  const CacheForecast of_empty = ForecastOf(TestProfile({{0, 0}, {0, 0}}), {0});
  EXPECT_DOUBLE_EQ(of_empty.hit_rate, 0.25);
}

}  // namespace
}  // namespace strata
