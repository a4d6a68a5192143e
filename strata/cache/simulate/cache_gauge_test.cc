#include "strata/cache/simulate/cache_gauge.h"

#include <vector>

#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/simulate/routing_log.h"
#include "strata/cache/testing/test_log.h"

namespace strata {
namespace {

class CacheGaugeTest : public ::testing::Test {
 protected:
  void Feed(CacheGauge& gauge, const std::vector<int>& experts, int missed_each) {
    const RoutingLog log = LogOf(geometry_, experts);
    for (size_t step = 0; step < log.num_steps(); ++step) {
      gauge.AddStep(log.uses(step), missed_each);
    }
  }

  const ExpertGeometry geometry_ = TestGeometry({100}, /*num_experts=*/6, /*num_used=*/1);
};

TEST_F(CacheGaugeTest, SetsTheRunBesideTheBestFixedChoiceAndTheOptimum) {
  CacheGauge gauge(geometry_, 100);
  Feed(gauge, {0, 1, 0, 2, 2, 2, 0, 1}, 1);
  const CacheGauge::Reading reading = gauge.Report({1}, 100);
  EXPECT_EQ(reading.steps, 8u);
  EXPECT_EQ(reading.hit_rate, 0);
  EXPECT_EQ(reading.best_static, 3.0 / 8) << "expert 0";
  EXPECT_EQ(reading.optimum, 4.0 / 8) << "0 twice, then 2 in its place twice";
  EXPECT_EQ(reading.lru, 3.0 / 8);
  EXPECT_EQ(reading.lru_with_more, 5.0 / 8) << "with two slots";
  EXPECT_EQ(reading.saved_bytes, 2 * 99.0 / 8);
}

TEST_F(CacheGaugeTest, ForgetsWhatIsOlderThanItsWindow) {
  CacheGauge gauge(geometry_, 3);
  Feed(gauge, {5, 5, 5, 5}, 1);
  Feed(gauge, {0, 0, 0}, 0);
  const CacheGauge::Reading reading = gauge.Report({1}, 0);
  EXPECT_EQ(reading.steps, 3u);
  EXPECT_EQ(reading.hit_rate, 1);
  EXPECT_EQ(reading.best_static, 1);
}

TEST_F(CacheGaugeTest, SaysNothingBeforeTheFirstStep) {
  const CacheGauge gauge(geometry_, 3);
  const CacheGauge::Reading reading = gauge.Report({2}, 1 << 30);
  EXPECT_EQ(reading.steps, 0u);
  EXPECT_EQ(reading.hit_rate, 0);
  EXPECT_EQ(reading.saved_bytes, 0);
}

}  // namespace
}  // namespace strata
