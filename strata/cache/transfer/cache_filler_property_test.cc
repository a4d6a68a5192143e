// Random jobs of the filler against a device whose copies are slow, overtake each other and fail:
// after every job that was said to be done, all bytes are those of the files.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;

constexpr Call kCopyFaults[] = {Call::kCopy, Call::kRunCopy, Call::kRecord};

// Fills random slots until `num_fills` blobs have been moved; returns how many jobs failed.
int RunJobs(CacheFiller& filler, HostDevice& device, const TestExperts& experts,
            std::vector<FillItem> slots, int64_t num_fills, std::mt19937_64& random) {
  int num_failed = 0;
  while (num_fills > 0) {
    std::shuffle(slots.begin(), slots.end(), random);
    const absl::Span<const FillItem> items =
        absl::MakeConstSpan(slots).subspan(0, 1 + random() % slots.size());
    for (const FillItem& item : items) {
      std::memset(item.destination, 0, experts.files().BlobBytes(item.id));
    }
    for (const Call call : kCopyFaults) device.faults().FailRandomly(call, 0.002, random());
    absl::Status status = filler.Fill({.items = items});
    device.faults().Heal();
    if (!status.ok()) {
      ++num_failed;
      status = filler.Fill({.items = items});
    }
    EXPECT_TRUE(status.ok()) << status;
    for (const FillItem& item : items) {
      EXPECT_TRUE(experts.IsBlobOf(item.id, item.destination));
    }
    num_fills -= items.size();
  }
  return num_failed;
}

TEST(CacheFillerPropertyTest, AJobThatIsDoneHasMovedEveryByteWhateverHappenedBefore) {
  const uint64_t seed = TestSeed();
  const int64_t num_fills = TestSteps(24000);
  constexpr int kRounds = 8;
  int num_failed = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    std::mt19937_64 random(seed + round);
    const TestExperts experts({.num_layers = 3,
                               .num_experts = 16,
                               .num_shards = 1 + round % 2,
                               .slice_bytes = {480, 512, 1024},
                               .misalignment = round % 4 == 3 ? 8 : 0});
    HostDevice device({.max_delay_yields = round % 3 * 2,
                       .shuffle_batches = true,
                       .seed = seed + round,
                       .pin_limit_bytes = round % 4 == 2 ? 0 : int64_t{1} << 40});
    PinBudget budget(int64_t{1} << 40, "a test");
    HostMemory memory(device, budget);
    BlobReader reader(experts.files());
    RegisteredExperts registered(experts.files(), device, budget);
    registered.Register(experts.ids().subspan(0, random() % 48));
    const auto arena = PinnedArena::Create({}, experts.ids().subspan(20, 8), reader, memory);
    ExpertSource source(reader, &registered, arena.ok() ? arena->get() : nullptr);
    const auto stages =
        std::move(StagePool::Create(
                      {.stage_bytes = experts.files().max_blob_bytes(), .num_stages = 5}, memory))
            .value();
    const DeviceMemory slots = *device.Allocate(experts.SlotBytes());
    const auto filler =
        std::move(CacheFiller::Create({.num_readers = 1 + static_cast<int>(random() % 4),
                                       .num_queues = 1 + static_cast<int>(random() % 3),
                                       .blobs_per_submission = 1 + static_cast<int>(random() % 8),
                                       .issue = random() % 4 == 0 ? CopyQueue::Issue::kOneByOne
                                                                  : CopyQueue::Issue::kTogether},
                                      device, source, *stages))
            .value();
    num_failed +=
        RunJobs(*filler, device, experts, experts.SlotsIn(slots), num_fills / kRounds, random);
    EXPECT_LE(device.max_queued_copies(), Device::kMaxQueuedCopies);
    EXPECT_EQ(stages->num_free(), stages->num_stages());
  }
  std::cout << num_fills << " blobs, " << num_failed << " jobs failed and were repeated"
            << std::endl;
  EXPECT_GT(num_failed, 0);
}

}  // namespace
}  // namespace strata
