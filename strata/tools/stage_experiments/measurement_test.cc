#include "strata/tools/stage_experiments/measurement.h"

#include "gtest/gtest.h"

namespace strata::stagebench {
namespace {

TEST(MeasurementTest, SummarizesByMedianAndQuartiles) {
  const Distribution odd = Summarize({5, 1, 3});
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.low, 2);
  EXPECT_EQ(odd.high, 4);
  EXPECT_EQ(odd.num_samples, 3);
  EXPECT_EQ(Summarize({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(Summarize({7}).high, 7);
}

}  // namespace
}  // namespace strata::stagebench
