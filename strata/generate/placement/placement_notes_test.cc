#include "strata/generate/placement/placement_notes.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/testing/test_log.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 2 layers of 8 experts, the smallest of 2 KiB.
class PlacementNotesTest : public ::testing::Test {
 protected:
  std::vector<std::string> Notes(const PlacementOutcome& outcome) const {
    return PlacementNotes(outcome, geometry_);
  }

 private:
  const ExpertGeometry geometry_ = TestGeometry({4096, 2048}, 8, 2);
};

TEST_F(PlacementNotesTest, WhatCameAsItWasAskedIsNotSpokenOf) {
  EXPECT_THAT(Notes({}), IsEmpty());
  EXPECT_THAT(Notes({.cache = SlotBudget::Slots(0)}), IsEmpty()) << "none were asked for";
  EXPECT_THAT(Notes({.cache = SlotBudget::Slots(16),
                     .profile = "a.profile",
                     .lend = 16,
                     .limits_arena = true,
                     .profile_tokens = 1,
                     .num_slots = 16,
                     .has_arena = true}),
              IsEmpty());
}

TEST_F(PlacementNotesTest, WhatCameToNothingIsSaid) {
  EXPECT_THAT(
      Notes({.profile = "a.profile"}),
      ElementsAre("the profile a.profile has counted no token: it does not say what is hot"));
  EXPECT_THAT(Notes({.cache = SlotBudget::Bytes(2047)}),
              ElementsAre(HasSubstr("too small for a single expert of 2.00 KiB")));
  EXPECT_THAT(Notes({.limits_arena = true}), ElementsAre(HasSubstr("there is no arena")));
}

TEST_F(PlacementNotesTest, WhatIsCutIsSaid) {
  EXPECT_THAT(Notes({.cache = SlotBudget::Slots(17), .num_slots = 16}),
              ElementsAre(HasSubstr("more slots than the 16 experts that the model has")));
  EXPECT_THAT(Notes({.lend = 9, .num_slots = 8}), ElementsAre(HasSubstr("the 8 slots")));
}

}  // namespace
}  // namespace strata
