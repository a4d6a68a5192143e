#include "strata/cache/policy/slot_plan.h"

#include <numeric>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

// Layers of two sizes, 4 experts each: numbers 0-3 are large, 4-7 small, 8-11 large.
ExpertGeometry TwoSizes() {
  return ExpertGeometry({{.block = 1, .blob_bytes = 1024, .expert_bytes = 1000},
                         {.block = 2, .blob_bytes = 512, .expert_bytes = 500},
                         {.block = 3, .blob_bytes = 1024, .expert_bytes = 1000}},
                        4, 2);
}

TEST(SlotPlanTest, TakesTheHottestExpertsAndGivesEachASlotOfItsSizeWithoutGaps) {
  const SlotPlan plan(TwoSizes(), SlotBudget::Slots(4), {9, 5, 0, 4, 7});
  EXPECT_THAT(plan.experts(), ElementsAre(9, 5, 0, 4));
  EXPECT_EQ(plan.bytes(), 1024 + 512 + 1024 + 512);
  EXPECT_EQ(plan.SlotBytes(0), 1024);
  EXPECT_EQ(plan.SlotBytes(1), 512);
  EXPECT_EQ(plan.OffsetOf(3), 1024 + 512 + 1024);
  EXPECT_THAT(plan.class_bytes(), ElementsAre(512, 1024));
}

TEST(SlotPlanTest, RanksExpertZeroOfEveryLayerFirstWhenNothingIsKnown) {
  EXPECT_THAT(SlotPlan::DefaultRanking(TwoSizes()),
              ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_THAT(SlotPlan(TwoSizes(), SlotBudget::Slots(4), {5}).experts(), ElementsAre(5, 0, 4, 8));
}

TEST(SlotPlanTest, SpendsBytesOnWhateverStillFitsInOrder) {
  // 2,600 bytes: two large ones, and then only small ones fit.
  const SlotPlan plan(TwoSizes(), SlotBudget::Bytes(2600), {0, 1, 2, 3, 4});
  EXPECT_THAT(plan.experts(), ElementsAre(0, 1, 4));
  EXPECT_LE(plan.bytes(), 2600);
}

TEST(SlotPlanTest, RoundsPercentOfExpertsToWholeSlots) {
  EXPECT_EQ(SlotPlan(TwoSizes(), SlotBudget::Percent(25), {}).num_slots(), 3);
  EXPECT_EQ(SlotPlan(TwoSizes(), SlotBudget::Percent(0), {}).num_slots(), 0);
  EXPECT_EQ(SlotPlan(TwoSizes(), SlotBudget::Percent(100), {}).num_slots(), 12);
}

TEST(SlotPlanTest, HoldsEveryExpertOnceWhenTheBudgetIsLargerThanTheModel) {
  const SlotPlan plan(TwoSizes(), SlotBudget::Slots(1000), {3, 11});
  EXPECT_EQ(plan.num_slots(), 12);
  EXPECT_EQ(plan.bytes(), TwoSizes().total_blob_bytes());
  EXPECT_EQ(std::set<int>(plan.experts().begin(), plan.experts().end()).size(), 12u);
}

TEST(SlotPlanTest, ABudgetThatNoInt64HoldsIsOneOfAllExperts) {
  for (const char* text : {"9223372036854775807", "9223372036854775807B", "9223372036854774000"}) {
    const SlotPlan plan(TwoSizes(), *SlotBudget::Parse(text), {});
    EXPECT_EQ(plan.num_slots(), 12) << text;
  }
}

TEST(SlotPlanTest, APrefixIsThePlanOfFewerSlots) {
  const SlotPlan plan(TwoSizes(), SlotBudget::Slots(6), {9, 5});
  const SlotPlan prefix = plan.Prefix(3);
  EXPECT_THAT(prefix.experts(), ElementsAre(9, 5, 0));
  EXPECT_EQ(prefix.bytes(), plan.OffsetOf(3));
}

TEST(SlotBudgetTest, ReadsSlotsPercentAndBytes) {
  EXPECT_EQ(SlotBudget::Parse("12")->unit, SlotBudget::Unit::kSlots);
  EXPECT_EQ(SlotBudget::Parse("12")->amount, 12);
  EXPECT_EQ(SlotBudget::Parse("12.5%")->unit, SlotBudget::Unit::kPercent);
  EXPECT_EQ(SlotBudget::Parse("12.5%")->amount, 12.5);
  EXPECT_EQ(SlotBudget::Parse("1.5GiB")->unit, SlotBudget::Unit::kBytes);
  EXPECT_EQ(SlotBudget::Parse("1.5GiB")->amount, 1.5 * (1 << 30));
  EXPECT_EQ(SlotBudget::Parse("3KiB")->amount, 3072);
  EXPECT_EQ(SlotBudget::Parse("300B")->amount, 300);
  EXPECT_EQ(SlotBudget::Parse("2gb")->amount, 2e9);
}

TEST(SlotBudgetTest, RefusesWhatIsNoneOfThem) {
  for (const char* text : {"", "x", "-1", "101%", "1.5", "GiB", "nan", "inf", "nan%", "1e30GiB",
                           "1e3", "0x10", " 5", "5.", "99999999999999999999"}) {
    const absl::Status refused = SlotBudget::Parse(text).status();
    EXPECT_EQ(ExitCodeOf(refused), ExitCode::kCommandLine) << text << " " << refused;
  }
}

}  // namespace
}  // namespace strata
