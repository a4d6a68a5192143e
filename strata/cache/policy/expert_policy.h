// Which experts come into the slots and which leave them, step by step: the one interface of the
// policies that the engine and the laboratory run. Pure: no device, no clock, no randomness; the
// same calls give the same answers everywhere.
//
// After each step the caller tells what the step used and which experts could come in, and the
// policy answers with the newcomers and the victim of each. How an expert comes in is the caller's:
// - by landing, the candidates are the experts whose bytes a step has stored in offered slots;
//   num_empty counts the places that the residents leave in the slots that are not offered;
// - by copies, the candidates are all that missed, and a newcomer shows when its copy has ended.
// An answer is advice until the caller has said with SetPlace what became of it. An expert is a
// victim only while it is in a slot, a newcomer only while it is in host memory.
//
// Used by one thread. Experts are numbers of the geometry; a newcomer and its victim are of one
// size class (a distinct blob size, see SlotPlan).
#ifndef STRATA_CACHE_POLICY_EXPERT_POLICY_H_
#define STRATA_CACHE_POLICY_EXPERT_POLICY_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/policy/swap_policy.h"

namespace strata {

// An expert that a step used.
struct ExpertUse {
  int32_t number = 0;
  int32_t accepted = 0;  // Tokens that chose it and stayed in the text,
  int32_t routed = 0;    // and all that did.
  friend bool operator==(const ExpertUse&, const ExpertUse&) = default;
};

class ExpertPolicy {
 public:
  using Place = SwapPolicy::Place;

  struct Step {
    absl::Span<const ExpertUse> uses;  // Ascending by number, none twice.
    absl::Span<const int> candidates;  // None twice; accepted tokens used them.
    absl::Span<const int> num_empty;   // By size class: newcomers that need no victim.
  };

  struct Admission {
    int newcomer = 0;
    int victim = -1;  // -1: an empty slot.
    friend bool operator==(const Admission&, const Admission&) = default;
  };

  virtual ~ExpertPolicy() = default;

  virtual absl::string_view name() const = 0;
  // Whether the expert would be let in, were it used by the next step: misses that are not wanted
  // take no offered slot.
  virtual bool Wants(int number) = 0;
  // The answer is good until the next call.
  virtual absl::Span<const Admission> EndStep(const Step& step) = 0;
  // Before the first step, all experts are in host memory.
  virtual void SetPlace(int number, Place place) = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_EXPERT_POLICY_H_
