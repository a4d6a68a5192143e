// After warm-up, moving experts allocates nothing, pins nothing and makes no event.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/testing/tier_machine.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/core/allocation_counter.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;

class AllocationTest : public ::testing::Test {
 protected:
  int64_t NumPins() {
    return device_.faults().num_calls(Call::kRegister) +
           device_.faults().num_calls(Call::kAllocatePinned);
  }

  // The device makes an event when all it has are held; here it gets more than any test holds.
  void MakeEvents() {
    const DeviceStream stream = *device_.CreateStream();
    std::vector<DeviceEvent> events;
    for (int i = 0; i < 1000; ++i) events.push_back(*device_.Record(stream));
    device_.Drain(stream);
  }

  HostDevice device_;
  PinBudget budget_{int64_t{1} << 40, "a test"};
  HostMemory memory_{device_, budget_};
};

TEST_F(AllocationTest, AStageThatIsAcquiredFilledCopiedAndDroppedAllocatesNothing) {
  constexpr int64_t kStageBytes = 4096;
  const auto stages =
      std::move(StagePool::Create({.stage_bytes = kStageBytes, .num_stages = 4}, memory_)).value();
  const DeviceStream stream = *device_.CreateStream();
  const DeviceMemory slot = *device_.Allocate(kStageBytes);
  MakeEvents();
  const auto move_blobs = [&](int num_blobs) {
    for (int i = 0; i < num_blobs; ++i) {
      StagePool::Stage stage = *stages->Acquire();
      stage.MarkReady();
      ASSERT_TRUE(device_.CopyToDevice(slot.data(), stage.bytes(), stream).ok());
      stage.ReleaseAfter(*device_.Record(stream));
    }
  };
  move_blobs(20);
  const int64_t allocations_before = NumAllocations(), pins_before = NumPins();
  move_blobs(1000);
  EXPECT_EQ(NumAllocations(), allocations_before);
  EXPECT_EQ(NumPins(), pins_before);
  device_.Drain(stream);
}

TEST_F(AllocationTest, AFillAllocatesNothing) {
  const TestExperts experts({.num_layers = 4, .num_experts = 64});
  BlobReader reader(experts.files());
  RegisteredExperts registered(experts.files(), device_, budget_);
  registered.Register(experts.ids().subspan(0, 150));
  ExpertSource source(reader, &registered, nullptr);
  const auto stages =
      std::move(StagePool::Create({.stage_bytes = experts.files().max_blob_bytes()}, memory_))
          .value();
  const DeviceMemory slots = *device_.Allocate(experts.SlotBytes());
  const std::vector<FillItem> items = experts.SlotsIn(slots);
  std::vector<Checksum> checksums(items.size());
  const auto filler = std::move(CacheFiller::Create({}, device_, source, *stages)).value();
  const CacheFiller::Job job = {.items = items, .checksums = absl::MakeSpan(checksums)};
  MakeEvents();
  // Which queue gets how much differs from job to job; a few jobs see the most of each.
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(filler->Fill(job).ok());
  const int64_t allocations_before = NumAllocations(), pins_before = NumPins();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(filler->Fill(job).ok());
  EXPECT_EQ(NumAllocations(), allocations_before);
  EXPECT_EQ(NumPins(), pins_before);
  EXPECT_EQ(experts.NumWrong(slots.data()), 0);
}

// Swaps, their patches and their arena places, too; what the thread that decodes does is counted.
TEST_F(AllocationTest, AStepOfTheTierAllocatesNothingOnTheThreadThatDecodes) {
  TierMachine::Options options = {.host = TierMachine::Host::kArena};
  options.tier.policy.max_swaps = 8;
  TierMachine machine(options);
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  std::vector<DeviceEvent> events;
  for (int i = 0; i < 1000; ++i) events.push_back(*machine.device.Record(machine.stream));
  events.clear();
  const std::vector<int> routed[] = {{1, 9}, {2, 10}, {3, 11}, {4, 12}};
  int64_t num_steps = 0;
  const auto run_steps = [&](int64_t num_swaps) {
    const int64_t swaps_before = machine.tier->counters().swaps_visible;
    while (machine.tier->counters().swaps_visible < swaps_before + num_swaps) {
      machine.tier->BeginStep();
      for (const ExpertGeometry::Layer& layer : machine.geometry.layers()) {
        for (const int index : routed[num_steps / 16 % 4]) {
          machine.tier->CountUses({.layer = layer.block, .index = index}, 1, true);
        }
      }
      machine.tier->EndStep(*machine.device.Record(machine.stream));
      machine.device.Drain(machine.stream);
      ++num_steps;
    }
  };
  run_steps(500);
  const int64_t allocations_before = NumAllocationsOfThisThread();
  run_steps(2000);
  EXPECT_EQ(NumAllocationsOfThisThread(), allocations_before);
  EXPECT_EQ(machine.tier->counters().waits_for_swaps, 0);
  EXPECT_EQ(machine.NumWrongSlots(), 0);
}

}  // namespace
}  // namespace strata
