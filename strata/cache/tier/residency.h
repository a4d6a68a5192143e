// Which experts are served from slots and which from host memory: slots, table entries and the
// policy's view of them, changed together.
//
// The alias of an expert is where it is served from without a slot: a registered window, the arena,
// the plain mapping, or nothing, when the caller has to stage it.
//
// Used by the decode thread alone, between steps; nothing is allocated after the constructor.
// Collaborators outlive it.
#ifndef STRATA_CACHE_TIER_RESIDENCY_H_
#define STRATA_CACHE_TIER_RESIDENCY_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

// Which host memory may be an alias: what those who serve misses can read.
enum class AliasRule {
  kAnyMemory,   // The CPU, or HostDevice: the plain mapping, too.
  kPinnedOnly,  // A GPU: everything else goes through a stage.
  kStageOnly,   // All misses go through a stage.
};

class Residency {
 public:
  struct Placement {
    int expert = 0;
    int slot = 0;
  };

  // All entries point to the aliases. `policy` may be null; it is told where experts are.
  static absl::StatusOr<std::unique_ptr<Residency>> Create(AliasRule rule,
                                                           const ExpertGeometry& geometry,
                                                           const ExpertSource& source,
                                                           SlotCache& slots, ExpertTable& table,
                                                           ExpertPolicy* policy = nullptr);

  const ExpertGeometry& geometry() const { return geometry_; }
  SlotCache& slots() const { return slots_; }
  ExpertTable& table() const { return table_; }
  ExpertId IdOf(int expert) const { return geometry_.IdOf(expert); }
  // Where the expert lies in host memory.
  HostBlob LocateHost(int expert) const { return source_.Locate(IdOf(expert)); }
  // How it lies in memory.
  BlobLayout LayoutOf(int expert) const { return source_.files().LayoutOf(IdOf(expert)); }
  // Where its parts are when it is in that slot.
  std::array<std::byte*, 3> PartsInSlot(const Placement& placement) const;
  // For decisions, by number.
  absl::Span<const SwapPolicy::Place> places() const { return places_; }
  // Entry of an expert without a slot, as of now.
  ExpertEntry AliasOf(int expert) const;

  // Something will be done with the expert: no decision takes it up until it has been.
  void SetBusy(int expert) { SetPlace(expert, SwapPolicy::Place::kBusy); }
  // It was not, after all.
  void SetIdle(int expert);
  // The resident experts' entries point to their aliases, and their slots are draining. False, and
  // nothing has changed, when no buffers for the change are free; an error is the device's, and
  // slots and aliases both stay good until a change succeeds. At most table().max_changes()
  // experts.
  absl::StatusOr<bool> Leave(absl::Span<const Placement> leaving, ExpertTable::Wait wait);
  // The copies of these experts have ended: entries point to the slots, which are resident. Returns
  // as Leave does.
  absl::StatusOr<bool> Arrive(absl::Span<const Placement> arriving, ExpertTable::Wait wait);

 private:
  Residency(AliasRule rule, const ExpertGeometry& geometry, const ExpertSource& source,
            SlotCache& slots, ExpertTable& table, ExpertPolicy* policy);
  void SetPlace(int expert, SwapPolicy::Place place);
  ExpertEntry EntryInSlot(const Placement& placement) const;

  const AliasRule rule_;
  const ExpertGeometry& geometry_;
  const ExpertSource& source_;
  SlotCache& slots_;
  ExpertTable& table_;
  ExpertPolicy* const policy_;
  std::vector<SwapPolicy::Place> places_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_RESIDENCY_H_
