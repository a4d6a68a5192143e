#include "strata/cache/host/host_placement.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/core/host_device.h"
#include "strata/core/log_capture.h"

namespace strata {
namespace {

using Choice = HostPlacement::Choice;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kNoLimit = int64_t{1} << 40;

// A HostDevice that passes for a GPU: kernels cannot read its pageable memory.
class GpuLikeDevice : public HostDevice {
 public:
  using HostDevice::HostDevice;
  const DeviceProperties& properties() const override { return properties_; }

 private:
  const DeviceProperties properties_ = {
      .name = "a test", .is_gpu = true, .can_register_read_only = true};
};

class HostPlacementTest : public ::testing::Test {
 protected:
  std::unique_ptr<HostPlacement> Place(HostPlacement::Options options, Device& device,
                                       int num_resident = 0) {
    if (!options.pin_budget.has_value()) options.pin_budget = kNoLimit;
    absl::StatusOr<std::unique_ptr<HostPlacement>> placement = HostPlacement::Create(
        options, experts_.files(), device, experts_.ids(), experts_.ids().subspan(0, num_resident));
    EXPECT_TRUE(placement.ok()) << placement.status();
    return *std::move(placement);
  }
  // How many experts lie in each form: registered, arena, stage, pageable.
  std::array<int, kNumHostForms> Forms(HostPlacement& placement) const {
    std::array<int, kNumHostForms> forms = {};
    for (const ExpertId id : experts_.ids()) {
      ++forms[static_cast<int>(placement.source().Locate(id).form)];
    }
    return forms;
  }
  int64_t BlobBytes(int i) const { return experts_.files().BlobBytes(experts_.ids()[i]); }

  TestExperts experts_;  // 16.
  HostDevice cpu_;
  GpuLikeDevice gpu_;
};

TEST_F(HostPlacementTest, AutoPinsTheFileInPlaceForAGpu) {
  const auto placement = Place({}, gpu_);
  EXPECT_THAT(Forms(*placement), ElementsAre(16, 0, 0, 0));
  EXPECT_EQ(placement->arena(), nullptr);
  EXPECT_GT(placement->pinned_bytes(), experts_.SlotBytes() / 2);
}

TEST_F(HostPlacementTest, AutoPinsNoExpertForADeviceThatReadsTheMapping) {
  const auto placement = Place({}, cpu_);
  EXPECT_THAT(Forms(*placement), ElementsAre(0, 0, 0, 16));
  EXPECT_FALSE(placement->stages_unpinned());
}

TEST_F(HostPlacementTest, AFileThatCannotBePinnedGoesIntoAnArenaWithoutWhatSlotsHold) {
  GpuLikeDevice gpu({.read_only_refusal = absl::UnimplementedError("not this filesystem")});
  const auto placement = Place({.num_spare_places = 3}, gpu, /*num_resident=*/6);
  EXPECT_THAT(Forms(*placement), ElementsAre(0, 10, 0, 6));
  EXPECT_EQ(placement->arena()->num_spare_places(), 3 + 1) << "one of the smaller size as well";
  EXPECT_EQ(placement->source().Locate(experts_.ids()[6]).form, HostForm::kArena);
}

TEST_F(HostPlacementTest, ASmallBudgetPinsWhatNoSlotHolds) {
  const auto placement = Place({.pin_budget = experts_.SlotBytes() * 3 / 4, .num_stages = 4}, gpu_,
                               /*num_resident=*/12);
  for (int i = 12; i < 16; ++i) {
    EXPECT_TRUE(placement->source().Locate(experts_.ids()[i]).pinned()) << i;
  }
  EXPECT_LT(Forms(*placement)[0], 16);
}

TEST_F(HostPlacementTest, ArenaKeepsWithinItsBytesAndHoldsTheHottest) {
  const int64_t bytes = PinnedArena::SpareBytes(experts_.files(), 3) + BlobBytes(0) + BlobBytes(1);
  const auto placement =
      Place({.choice = Choice::kArena, .max_arena_bytes = bytes, .num_spare_places = 3}, cpu_);
  EXPECT_THAT(Forms(*placement), ElementsAre(0, 2, 0, 14));
  EXPECT_EQ(placement->source().Locate(experts_.ids()[1]).form, HostForm::kArena);
  EXPECT_LE(placement->arena()->memory().size(), bytes);
  EXPECT_TRUE(placement->stages_unpinned());
}

TEST_F(HostPlacementTest, WithoutAnArenaTheRestGoesThroughStages) {
  GpuLikeDevice gpu({.read_only_refusal = absl::UnimplementedError("not this filesystem")});
  const auto placement = Place({.may_use_arena = false}, gpu);
  EXPECT_THAT(Forms(*placement), ElementsAre(0, 0, 0, 16));
  EXPECT_TRUE(placement->stages_unpinned());
  EXPECT_THAT(placement->Describe(), HasSubstr("16 read through 32 pinned stages"));
}

TEST_F(HostPlacementTest, AChoiceIsThatFormAlone) {
  EXPECT_THAT(Forms(*Place({.choice = Choice::kRegistered}, cpu_)), ElementsAre(16, 0, 0, 0));
  EXPECT_THAT(Forms(*Place({.choice = Choice::kArena}, gpu_)), ElementsAre(0, 16, 0, 0));
  EXPECT_THAT(Forms(*Place({.choice = Choice::kStage}, gpu_)), ElementsAre(0, 0, 0, 16));
  EXPECT_TRUE(Place({.choice = Choice::kStage}, cpu_)->stages_unpinned());
  EXPECT_THAT(Forms(*Place({.choice = Choice::kPageable}, gpu_)), ElementsAre(0, 0, 0, 16));
  EXPECT_FALSE(Place({.choice = Choice::kPageable}, cpu_)->stages_unpinned());
  EXPECT_TRUE(Place({.choice = Choice::kPageable}, gpu_)->stages_unpinned());
}

TEST_F(HostPlacementTest, RefusedPinsAreToldAndServedThroughPageableStages) {
  for (const Choice choice : {Choice::kAuto, Choice::kRegistered, Choice::kArena, Choice::kStage}) {
    LogCapture log;
    const auto placement = Place({.choice = choice, .pin_budget = 0}, gpu_);
    EXPECT_THAT(Forms(*placement), ElementsAre(0, 0, 0, 16));
    EXPECT_FALSE(placement->stages().memory().pinned());
    EXPECT_EQ(placement->pinned_bytes(), 0);
    EXPECT_GE(log.warnings().size(), 1u);
    EXPECT_THAT(placement->Describe(), HasSubstr("16 read through 32 pageable stages"));
  }
}

TEST_F(HostPlacementTest, KnowsTheNamesOfItsChoices) {
  EXPECT_EQ(HostPlacement::ParseChoice("arena"), Choice::kArena);
  EXPECT_EQ(HostPlacement::ParseChoice("auto"), Choice::kAuto);
  EXPECT_EQ(HostPlacement::ParseChoice("stages"), std::nullopt);
}

}  // namespace
}  // namespace strata
