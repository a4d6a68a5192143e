// Sees to it that an arena is the complement of the slots: an expert that is served from a slot
// gives its place in the arena back, however it came to have both. It is a newcomer that was copied
// from there, by a swap or by a fill, or a victim that got its place and then stayed.
//
// A place is kept while an entry may point to it: the table must be sure, and the expert resident
// with nothing else intended.
//
// Used by the decode thread alone, between steps; nothing is allocated after the constructor.
// Collaborators outlive it.
#ifndef STRATA_CACHE_TIER_ARENA_TENANTS_H_
#define STRATA_CACHE_TIER_ARENA_TENANTS_H_

#include <vector>

#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/tier/residency.h"
#include "strata/core/device_events.h"

namespace strata {

class ArenaTenants {
 public:
  // `arena` may be null: then nobody has a place.
  ArenaTenants(const Residency& residency, PinnedArena* arena);

  // The expert has come into a slot, or stays in one.
  void NoteInSlot(int expert);
  // Gives back what the experts noted so far need no more; others are asked again next time. The
  // places are spare after `in_use`.
  void GiveBack(const DeviceEvents& in_use);

  // Whether the victim of a swap must get a place of the arena: it has no pinned alias, and its
  // newcomer will leave a place.
  bool NeedsPlace(int victim, int newcomer) const;

 private:
  const Residency& residency_;
  PinnedArena* const arena_;
  std::vector<int> noted_;
  std::vector<bool> is_noted_;  // By expert.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_ARENA_TENANTS_H_
