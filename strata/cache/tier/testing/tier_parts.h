// A tier and all it stands on, over any device and experts of random bytes, for tests.
#ifndef STRATA_CACHE_TIER_TESTING_TIER_PARTS_H_
#define STRATA_CACHE_TIER_TESTING_TIER_PARTS_H_

#include <cstdint>
#include <memory>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/core/device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {

ExpertGeometry GeometryOf(const TestExperts& experts, int num_used);

class TierParts {
 public:
  enum class Host { kRegistered, kArena, kPageable };

  struct Options {
    TestExperts::Options experts = {.num_layers = 2, .num_experts = 16};
    int num_used = 2;
    Host host = Host::kRegistered;
    int num_spare_places = 4;  // Of the arena, which holds what the plan does not.
    SlotBudget budget = SlotBudget::Slots(8);
    int num_stages = 4;
    bool image = true;
    int64_t patch_bytes = 1024;
    int num_patches = 8;
    ExpertTier::Options tier = {
        .policy = {.adapt_every = 1, .max_swaps = 4, .decay = 0.9, .margin = 0},
        .fill_chunk = 3,
        .filler = {.num_readers = 2, .num_queues = 2, .blobs_per_submission = 2},
        .swap_share = 1};  // Tests of swaps want them all.
  };

  TierParts(Device& device, const Options& options);

  // Everything that was decided or queued has shown, failed or been dropped.
  bool IsSettled() const;

  // Places of the arena that are lost: of experts that are served from slots, or of nobody. When
  // the tier is settled there are none.
  int NumLostPlaces() const;

  const TestExperts experts;
  const ExpertGeometry geometry;
  PinBudget budget;
  HostMemory memory;
  BlobReader reader;
  RegisteredExperts registered;
  SlotPlan plan;
  std::unique_ptr<PinnedArena> arena;
  std::unique_ptr<StagePool> stages;
  std::unique_ptr<StagePool> patches;
  std::unique_ptr<ExpertSource> source;
  DeviceStream stream;  // Of the kernels.
  std::unique_ptr<ExpertTier> tier;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_TIER_PARTS_H_
