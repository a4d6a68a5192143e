// Sees to it that an arena is the complement of the slots, unless it holds all experts from the
// beginning: an expert that is served from a slot gives its place in the arena back, however it
// came to have both. It is a newcomer that was copied from there, by a swap or by a fill, or a
// victim that got its place and then stayed.
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

  // Whether the expert would leave its slot for no pinned alias, though there is an arena.
  bool HasNoAlias(int expert) const;
  // Whether the newcomer of a swap leaves a place, so that its victim must get one.
  bool LeavesPlace(int newcomer) const;
  // Spare places beyond those that were spare at first, which swaps need: experts that came back
  // from a loan by another way than they left have left them, and victims without an alias get
  // them.
  int num_surplus_places() const;

 private:
  const Residency& residency_;
  PinnedArena* const arena_;
  const bool holds_all_;
  const int num_places_for_swaps_;
  std::vector<int> noted_;
  std::vector<bool> is_noted_;  // By expert.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_ARENA_TENANTS_H_
