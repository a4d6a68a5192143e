#include "strata/cache/tier/routing_counter.h"

#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/tier_counters.h"

namespace strata {
namespace {

class RoutingCounterTest : public ::testing::Test {
 protected:
  void SetForm(int number, EntryForm form) {
    ASSERT_TRUE(*table_.Begin(1, ExpertTable::Wait::kNever));
    table_.Set(number, {.form = form});
    ASSERT_TRUE(table_.Commit().ok());
  }
  int64_t Misses(MissPath path) const { return counters_.misses[static_cast<int>(path)]; }

  const ExpertGeometry geometry_{{{.block = 0, .blob_bytes = 1024, .expert_bytes = 1000},
                                  {.block = 1, .blob_bytes = 2048, .expert_bytes = 2000}},
                                 4,
                                 2};
  ExpertTable table_{8};
  TierCounters counters_;
  RoutingCounter counter_{geometry_, table_, MissPath::kRead, counters_};
};

TEST_F(RoutingCounterTest, AHitIsAnEntryInASlotAndAMissGoesThePathThatItsEntryAllows) {
  SetForm(0, EntryForm::kSlot);
  SetForm(1, EntryForm::kArena);
  SetForm(2, EntryForm::kStage);
  for (const int number : {0, 1, 2}) counter_.Count(number, 0, 1);
  EXPECT_EQ(counters_.routed, 3);
  EXPECT_EQ(counters_.hits, 1);
  EXPECT_EQ(Misses(MissPath::kRead), 1);
  EXPECT_EQ(Misses(MissPath::kStage), 1) << "what has no address is staged";
  EXPECT_EQ(counters_.num_misses(), 2);
}

TEST_F(RoutingCounterTest, CountsTheBytesOfAnExpertOnceAStepHoweverManyTokensChoseIt) {
  SetForm(0, EntryForm::kSlot);
  SetForm(4, EntryForm::kPageable);
  for (int i = 0; i < 3; ++i) counter_.Count(0, 7, 1);
  counter_.Count(4, 7, 1);
  EXPECT_EQ(counters_.routed, 4);
  EXPECT_EQ(counters_.bytes_from(EntryForm::kSlot), 1000);
  EXPECT_EQ(counters_.bytes_from(EntryForm::kPageable), 2000);
  counter_.Count(0, 8, 1);
  EXPECT_EQ(counters_.bytes_from(EntryForm::kSlot), 2000);
}

}  // namespace
}  // namespace strata
