#include "strata/tools/machine_plan.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/generate/placement/footprint.h"

namespace strata {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// 2 layers of 4 experts of 10 MiB, 2 used.
ExpertGeometry Geometry() {
  return ExpertGeometry({{.block = 0, .blob_bytes = 10 * kMiB, .expert_bytes = 10 * kMiB},
                         {.block = 1, .blob_bytes = 10 * kMiB, .expert_bytes = 10 * kMiB}},
                        /*num_experts=*/4, /*num_used=*/2);
}

Footprint DenseParts() {
  return {.dense_bytes = 100 * kMiB,
          .dense_read_bytes = 80 * kMiB,
          .kv_bytes = 20 * kMiB,
          .kv_read_bytes = 20 * kMiB,
          .workspace_bytes = 5 * kMiB};
}

Machine SmallMachine() {
  return {.vram_bytes = 160 * kMiB,
          .ram_bytes = 1000 * kMiB,
          .vram_reserve_bytes = 10 * kMiB,
          .num_stages = 4,
          .link_gb_per_s = 1,
          .dram_gb_per_s = 2,
          .gpu_gb_per_s = 100,
          .disk_gb_per_s = 0.4};
}

TEST(MachinePlanTest, GivesSlotsWhatTheRestLeaves) {
  const MachinePlan plan = PlanMachine(SmallMachine(), DenseParts(), Geometry(), nullptr);
  EXPECT_EQ(plan.shortage, "");
  EXPECT_EQ(plan.vram_needed_bytes, 135 * kMiB);
  EXPECT_EQ(plan.num_slots, 2);
  EXPECT_EQ(plan.slot_bytes, 20 * kMiB);
  EXPECT_LE(plan.vram_used_bytes(), SmallMachine().vram_bytes);
  EXPECT_EQ(plan.num_pinned, 8);
  EXPECT_EQ(plan.stage_bytes, 40 * kMiB);
  EXPECT_EQ(plan.num_in_file, 0);
}

TEST(MachinePlanTest, BoundsFollowFromBytesAndBandwidths) {
  const MachinePlan plan = PlanMachine(SmallMachine(), DenseParts(), Geometry(), nullptr);
  // A token uses 4 experts, a quarter of them from the 2 slots.
  EXPECT_DOUBLE_EQ(plan.forecast.hit_rate, 0.25);
  EXPECT_DOUBLE_EQ(plan.link.bytes, 30.0 * kMiB);
  EXPECT_DOUBLE_EQ(plan.link.tokens_per_s, 1e9 / (30.0 * kMiB));
  EXPECT_DOUBLE_EQ(plan.dram.tokens_per_s, 2e9 / (30.0 * kMiB));
  EXPECT_DOUBLE_EQ(plan.gpu.bytes, 110.0 * kMiB);
  EXPECT_EQ(plan.disk.bytes, 0);
  EXPECT_EQ(plan.tightest, "link");
}

TEST(MachinePlanTest, AProfileRaisesTheHitRate) {
  const ExpertProfile profile = TestProfile({{90, 5, 5, 0}, {5, 90, 0, 5}}, 50);
  const MachinePlan plan = PlanMachine(SmallMachine(), DenseParts(), profile.geometry(), &profile);
  EXPECT_TRUE(plan.has_profile);
  EXPECT_GT(plan.forecast.hit_rate, 0.89);
}

TEST(MachinePlanTest, WhatRamCannotHoldStaysInTheFile) {
  Machine machine = SmallMachine();
  machine.ram_bytes = 100 * kMiB;  // 75 to pin, 40 of them stages.
  const MachinePlan plan = PlanMachine(machine, DenseParts(), Geometry(), nullptr);
  EXPECT_EQ(plan.num_pinned, 3);
  EXPECT_EQ(plan.num_in_file, 3);
  EXPECT_EQ(plan.file_bytes, 30 * kMiB);
  // 3 of 8 experts are nowhere else.
  EXPECT_DOUBLE_EQ(plan.disk.bytes, 15.0 * kMiB);
  EXPECT_EQ(plan.tightest, "disk");
}

TEST(MachinePlanTest, SaysPlainlyWhenItDoesNotFit) {
  Machine machine = SmallMachine();
  machine.vram_bytes = 100 * kMiB;
  const MachinePlan plan = PlanMachine(machine, DenseParts(), Geometry(), nullptr);
  EXPECT_EQ(plan.shortage,
            "it does not fit: without a single expert it takes 135 MiB of GPU memory, 35.0 MiB "
            "more than there is");
  EXPECT_EQ(plan.num_slots, 0);
}

TEST(MachinePlanTest, ReservesAndMemoriesOfAnySizeAreTaken) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Machine machine = SmallMachine();
  machine.vram_reserve_bytes = kMost;
  const MachinePlan reserved = PlanMachine(machine, DenseParts(), Geometry(), nullptr);
  EXPECT_NE(reserved.shortage, "");
  EXPECT_EQ(reserved.num_slots, 0);
  machine.vram_bytes = machine.ram_bytes = kMost;
  machine.vram_reserve_bytes = 0;
  const MachinePlan huge = PlanMachine(machine, {}, Geometry(), nullptr);
  EXPECT_EQ(huge.shortage, "");
  EXPECT_EQ(huge.num_slots, 8);
}

TEST(MachinePlanTest, EverythingFitsAndNothingIsMissed) {
  Machine machine = SmallMachine();
  machine.vram_bytes = 1000 * kMiB;
  const MachinePlan plan = PlanMachine(machine, DenseParts(), Geometry(), nullptr);
  EXPECT_EQ(plan.num_slots, 8);
  EXPECT_EQ(plan.forecast.hit_rate, 1);
  EXPECT_EQ(plan.link.tokens_per_s, 0);
  EXPECT_EQ(plan.tightest, "gpu");
}

TEST(MachinePlanTest, ADenseModelHasNoSlots) {
  const MachinePlan plan = PlanMachine(SmallMachine(), DenseParts(), ExpertGeometry(), nullptr);
  EXPECT_EQ(plan.num_slots, 0);
  EXPECT_EQ(plan.num_experts, 0);
  EXPECT_EQ(plan.link.bytes, 0);
  EXPECT_EQ(plan.tightest, "gpu");
}

}  // namespace
}  // namespace strata
