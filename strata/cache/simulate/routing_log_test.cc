#include "strata/cache/simulate/routing_log.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/testing/test_log.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

TEST(RoutingLogTest, CountsTheTokensOfAStepByExpert) {
  RoutingLog log(TestGeometry({10, 10}, 4, 2));
  // Two tokens, of which the first is accepted; layer 0, then layer 1.
  log.Add({.num_tokens = 2, .num_accepted = 1, .experts = {3, 1, 1, 2, 0, 1, 0, 1}});
  EXPECT_THAT(log.uses(0), ElementsAre(ExpertUse{1, 1, 2}, ExpertUse{2, 0, 1}, ExpertUse{3, 1, 1},
                                       ExpertUse{4, 1, 2}, ExpertUse{5, 1, 2}));
  EXPECT_THAT(log.Counts(), ElementsAre(0, 1, 0, 1, 1, 1, 0, 0));
  EXPECT_EQ(log.total_tokens(), 2);
}

TEST(RoutingLogTest, JoinsSuccessiveTokensInWindows) {
  const ExpertGeometry geometry = TestGeometry({10}, 4, 1);
  const RoutingLog log = LogOf(geometry, {0, 1, 1, 2, 3}).Windowed(3);
  ASSERT_EQ(log.num_steps(), 2u);
  EXPECT_THAT(log.uses(0), ElementsAre(ExpertUse{0, 1, 1}, ExpertUse{1, 2, 2}));
  EXPECT_THAT(log.uses(1), ElementsAre(ExpertUse{2, 1, 1}, ExpertUse{3, 1, 1}));
  EXPECT_EQ(log.num_tokens(0), 3);
  EXPECT_EQ(log.num_tokens(1), 2);
}

TEST(RoutingLogTest, LeavesStepsOfManyTokensAsTheyAre) {
  const ExpertGeometry geometry = TestGeometry({10}, 4, 1);
  RoutingLog log(geometry);
  log.Add({.num_tokens = 2, .num_accepted = 2, .experts = {0, 1}});
  log.Add({.num_tokens = 1, .num_accepted = 1, .experts = {2}});
  log.Add({.num_tokens = 1, .num_accepted = 1, .experts = {3}});
  log.Add({.num_tokens = 2, .num_accepted = 2, .experts = {0, 1}});
  const RoutingLog windowed = log.Windowed(8);
  ASSERT_EQ(windowed.num_steps(), 3u);
  EXPECT_EQ(windowed.num_tokens(1), 2);
}

TEST(RoutingLogTest, NeedsATrace) {
  EXPECT_EQ(ExitCodeOf(RoutingLog::Load({}).status()), ExitCode::kCommandLine);
}

}  // namespace
}  // namespace strata
