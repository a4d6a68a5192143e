// What came of what a command line asked about experts, where that is not what it says.
#ifndef STRATA_GENERATE_PLACEMENT_PLACEMENT_NOTES_H_
#define STRATA_GENERATE_PLACEMENT_PLACEMENT_NOTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/slot_plan.h"

namespace strata {

struct PlacementOutcome {
  // As it was asked.
  std::optional<SlotBudget> cache;
  std::string profile;  // A path; empty: none.
  int lend = 0;
  bool limits_arena = false;  // --host_experts.

  // As it is.
  uint64_t profile_tokens = 0;
  int num_slots = 0;
  bool has_arena = false;
};

// A sentence for each thing that came to nothing, or to less.
std::vector<std::string> PlacementNotes(const PlacementOutcome& outcome,
                                        const ExpertGeometry& geometry);

}  // namespace strata

#endif  // STRATA_GENERATE_PLACEMENT_PLACEMENT_NOTES_H_
