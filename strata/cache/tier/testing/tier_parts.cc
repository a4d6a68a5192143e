#include "strata/cache/tier/testing/tier_parts.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "strata/cache/experts/expert_files.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

ExpertGeometry GeometryOf(const TestExperts& experts, int num_used) {
  std::vector<ExpertGeometry::Layer> layers;
  int num_experts = 0;
  for (const ExpertId id : experts.ids()) {
    num_experts = std::max(num_experts, id.index + 1);
    if (id.index > 0) continue;
    ExpertGeometry::Layer layer = {.block = id.layer, .blob_bytes = experts.files().BlobBytes(id)};
    for (const ExpertSlice& slice : experts.files().Slices(id)) layer.expert_bytes += slice.bytes;
    layers.push_back(layer);
  }
  return ExpertGeometry(std::move(layers), num_experts, num_used);
}

TierParts::TierParts(Device& device, const Options& options)
    : experts(options.experts),
      geometry(GeometryOf(experts, options.num_used)),
      budget(int64_t{1} << 40, "a test"),
      memory(device, budget),
      reader(experts.files()),
      registered(experts.files(), device, budget),
      plan(geometry, options.budget, options.tier.hottest_first) {
  if (options.host == Host::kRegistered) registered.Register(experts.ids());
  if (options.host == Host::kArena) {
    std::vector<bool> is_planned(geometry.size(), false);
    for (const int expert : plan.experts()) is_planned[expert] = true;
    std::vector<ExpertId> others;
    for (int number = 0; number < geometry.size(); ++number) {
      if (!is_planned[number]) others.push_back(geometry.IdOf(number));
    }
    auto made =
        PinnedArena::Create({.num_spare_places = options.num_spare_places}, others, reader, memory);
    if (made.ok()) arena = *std::move(made);
  }
  stages = std::move(StagePool::Create({.stage_bytes = experts.files().max_blob_bytes(),
                                        .num_stages = options.num_stages},
                                       memory))
               .value();
  patches = std::move(StagePool::Create({.stage_bytes = options.patch_bytes,
                                         .num_stages = options.num_patches,
                                         .min_stages = 1},
                                        memory))
                .value();
  source = std::make_unique<ExpertSource>(reader, &registered, arena.get());
  stream = std::move(device.CreateStream()).value();
  ExpertTier::Options tier_options = options.tier;
  if (options.tier.patches_by_step) tier_options.table_stream = &stream;
  if (options.image) {
    tier_options.table_stream = &stream;
    tier_options.table_patches = patches.get();
  }
  tier =
      std::move(
          ExpertTier::Create(
              tier_options, geometry, plan,
              {.device = device, .source = *source, .arena = arena.get(), .stages = stages.get()}))
          .value();
  tier->SetRates({.copy_bytes_per_ns = 1, .miss_fixed_ns = 0, .miss_ns_per_byte = 1});
}

int TierParts::NumLostPlaces() const {
  if (arena == nullptr) return 0;
  int num_lost = arena->num_places() - arena->num_experts() - arena->num_spare_places();
  for (const int expert : tier->residents()) {
    num_lost += expert >= 0 && arena->Find(geometry.IdOf(expert)) != nullptr;
  }
  return num_lost;
}

bool TierParts::IsSettled() const {
  const TierCounters counters = tier->counters();
  return tier->fill_done() && tier->slots().NumIn(SlotState::kCopying) == 0 &&
         counters.swaps_decided ==
             counters.swaps_visible + counters.swaps_failed + counters.swaps_dropped;
}

}  // namespace strata
