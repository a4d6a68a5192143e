#include "strata/generate/placement/placement_notes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/core/cli/byte_size.h"

namespace strata {
namespace {

int64_t SmallestExpert(const ExpertGeometry& geometry) {
  const auto by_bytes = [](const ExpertGeometry::Layer& a, const ExpertGeometry::Layer& b) {
    return a.blob_bytes < b.blob_bytes;
  };
  return std::min_element(geometry.layers().begin(), geometry.layers().end(), by_bytes)->blob_bytes;
}

// Of a cache that was asked for by its size.
std::string CacheNote(const SlotBudget& cache, const PlacementOutcome& outcome,
                      const ExpertGeometry& geometry) {
  if (cache.amount == 0) return "";
  if (outcome.num_slots == 0) {
    return absl::StrCat("--expert_cache is too small for a single expert of ",
                        FormatByteSize(SmallestExpert(geometry)), ": there are no slots");
  }
  if (cache.unit == SlotBudget::Unit::kSlots && cache.amount > geometry.size()) {
    return absl::StrCat("--expert_cache asks for more slots than the ", geometry.size(),
                        " experts that the model has: it has ", outcome.num_slots);
  }
  return "";
}

}  // namespace

std::vector<std::string> PlacementNotes(const PlacementOutcome& outcome,
                                        const ExpertGeometry& geometry) {
  std::vector<std::string> notes;
  if (!outcome.profile.empty() && outcome.profile_tokens == 0) {
    notes.push_back(absl::StrCat("the profile ", outcome.profile,
                                 " has counted no token: it does not say what is hot"));
  }
  if (outcome.cache.has_value()) {
    const std::string note = CacheNote(*outcome.cache, outcome, geometry);
    if (!note.empty()) notes.push_back(note);
  }
  if (outcome.lend > outcome.num_slots && outcome.num_slots > 0) {
    notes.push_back(absl::StrCat("--lend is more than the ", outcome.num_slots,
                                 " slots: prompts borrow them all"));
  }
  if (outcome.limits_arena && !outcome.has_arena) {
    notes.push_back("--host_experts leaves no room for an expert: there is no arena");
  }
  return notes;
}

}  // namespace strata
