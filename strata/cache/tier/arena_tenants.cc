#include "strata/cache/tier/arena_tenants.h"

#include <cstddef>

#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/residency.h"
#include "strata/core/device_events.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

ArenaTenants::ArenaTenants(const Residency& residency, PinnedArena* arena)
    : residency_(residency),
      arena_(arena),
      holds_all_(arena != nullptr && arena->num_experts() == residency.geometry().size()),
      num_places_for_swaps_(arena == nullptr ? 0 : arena->num_spare_places()),
      is_noted_(residency.geometry().size(), false) {
  noted_.reserve(is_noted_.size());
}

void ArenaTenants::NoteInSlot(int expert) {
  if (arena_ == nullptr || holds_all_ || is_noted_[expert]) return;
  is_noted_[expert] = true;
  noted_.push_back(expert);
}

void ArenaTenants::GiveBack(const DeviceEvents& in_use) {
  // After a refused patch the image may name the alias of an expert that has stayed.
  if (noted_.empty() || !residency_.table().is_sure()) return;
  size_t num_kept = 0;
  for (const int expert : noted_) {
    const SwapPolicy::Place place = residency_.places()[expert];
    if (place == SwapPolicy::Place::kBusy) {
      noted_[num_kept++] = expert;
      continue;
    }
    is_noted_[expert] = false;
    // One that has left meanwhile is served from its place.
    const ExpertId id = residency_.IdOf(expert);
    if (place != SwapPolicy::Place::kSlot || arena_->Find(id) == nullptr) continue;
    arena_->Release(id, in_use);
  }
  noted_.resize(num_kept);
}

bool ArenaTenants::HasNoAlias(int expert) const {
  return arena_ != nullptr && !residency_.LocateHost(expert).pinned();
}

bool ArenaTenants::LeavesPlace(int newcomer) const {
  return residency_.LocateHost(newcomer).form == HostForm::kArena;
}

int ArenaTenants::num_surplus_places() const {
  return arena_ == nullptr ? 0 : arena_->num_spare_places() - num_places_for_swaps_;
}

}  // namespace strata
