// What the parts of a tier stand on, with a mover that the test plays and a journal that it reads:
// for tests of one part alone. No byte moves.
#ifndef STRATA_CACHE_TIER_TESTING_TIER_PIECES_H_
#define STRATA_CACHE_TIER_TESTING_TIER_PIECES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/arena_tenants.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/step_gap.h"
#include "strata/cache/tier/testing/fake_mover.h"
#include "strata/cache/tier/tier_observer.h"
#include "strata/core/device.h"
#include "strata/core/device_events.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {

// Writes down what it hears, a line each: "7: 9 left 2 for a swap".
class WrittenJournal : public TierObserver {
 public:
  // Since the last call.
  std::vector<std::string> Take();

  void OnSwapDecided(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnSwapVisible(int64_t step, const SwapPolicy::Swap& swap, const SwapRates& rates,
                     int slot) override;
  void OnSwapDropped(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnSwapFailed(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnLeft(int64_t step, int expert, int slot, LeftFor why) override;
  void OnCameBack(int64_t step, int expert, int slot, CameBy how) override;
  void OnFillFailed(int64_t step, int expert) override;
  void OnLent(int64_t step, int num_slots) override;
  void OnRefilled(int64_t ns) override;
  void OnPostponed(int64_t step) override;

 private:
  std::vector<std::string> lines_;
};

struct TierPieces {
  // Two layers of eight experts, 0 to 7 and 8 to 15, and four slots: 0 and 2 are of the first
  // layer's size, 1 and 3 of the second's. An arena holds all experts but 0, 1, 8 and 9. With an
  // image, patches may be refused.
  struct Options {
    bool arena = false;
    bool image = false;
  };

  TierPieces() : TierPieces(Options()) {}
  explicit TierPieces(const Options& options);

  // The expert is served from the slot from now on.
  void Show(int expert, int slot);
  // Experts 0, 8, 1 and 9 are, as a fill leaves them.
  void ShowFirst();
  StepGap Gap(int64_t next_step) const { return {next_step, in_use}; }
  SwapPolicy::Swap Swap(int newcomer, int victim) const;
  bool InArena(int expert) const { return arena->Find(geometry.IdOf(expert)) != nullptr; }
  bool InSlot(int expert) const { return table->entry(expert).form == EntryForm::kSlot; }

  HostDevice device;
  const TestExperts experts{{.num_layers = 2, .num_experts = 8}};
  const ExpertGeometry geometry;
  PinBudget budget{int64_t{1} << 40, "a test"};
  HostMemory memory{device, budget};
  BlobReader reader{experts.files()};
  std::unique_ptr<PinnedArena> arena;
  std::unique_ptr<ExpertSource> source;
  const DeviceStream stream = *device.CreateStream();
  std::unique_ptr<StagePool> patches;
  std::unique_ptr<SlotCache> slots;
  std::unique_ptr<ExpertTable> table;
  std::unique_ptr<Residency> residency;
  std::unique_ptr<ArenaTenants> tenants;
  DeviceEvents in_use;
  FakeMover mover;
  WrittenJournal journal;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_TIER_PIECES_H_
