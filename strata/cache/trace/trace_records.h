// What a routing trace holds: which experts each step chose, and what the tier decided and did, so
// that a run can be replayed exactly (the residency records) or the policy run afresh (the
// settings).
//
// Experts are numbers of the geometry, slots count from 0 in the order of device memory, and a step
// is RoutedStep::number. Plain values.
#ifndef STRATA_CACHE_TRACE_TRACE_RECORDS_H_
#define STRATA_CACHE_TRACE_TRACE_RECORDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/landing_rule.h"

namespace strata {

// The tier as it was before the first step. All empty: there was none.
struct TierSettings {
  struct Slot {
    int64_t blob_bytes = 0;
    int expert = -1;  // -1: empty.
    friend bool operator==(const Slot&, const Slot&) = default;
  };

  std::vector<Slot> slots;
  // The policy's options; adapt_every 0: no adaptation.
  int adapt_every = 0;
  int max_swaps = 0;
  int64_t max_bytes = 0;
  double decay = 0;
  double margin = 0;
  // What the policy started from: all experts, hottest first, and its first counts by number.
  // Either may be empty.
  std::vector<int> ranking;
  std::vector<float> seed_counts;
  // How misses land, see LandingPools; a share of 0: they do not. A landing class for each layer
  // that has experts, the slots that each class offers, and the uses of a step that the rule
  // expects at first, by number. All may be empty.
  double offered_share = 0;
  LandingRule landing_rule = LandingRule::kAdaptive;
  std::vector<int> landing_classes;
  std::vector<int> num_offered;
  std::vector<float> uses_per_step;
  // Whatever else should be known, for people. Keys and values are UTF-8 without control
  // characters, at most 64 KiB.
  std::map<std::string, std::string> notes;

  friend bool operator==(const TierSettings&, const TierSettings&) = default;
};

struct TraceHeader {
  ModelIdentity identity;
  TierSettings tier;
  friend bool operator==(const TraceHeader&, const TraceHeader&) = default;
};

// What moving and missing cost when the policy decided after `step`.
struct TraceRates {
  int64_t step = 0;
  double copy_bytes_per_ns = 0;
  double miss_fixed_ns = 0;
  double miss_ns_per_byte = 0;
  friend bool operator==(const TraceRates&, const TraceRates&) = default;
};

// A swap decided after `step`. Which slot it took is known once it is visible.
struct TraceSwap {
  int64_t step = 0;
  int newcomer = 0;
  int victim = -1;  // -1: an empty slot will do.
  double predicted_saving_ns = 0;
  friend bool operator==(const TraceSwap&, const TraceSwap&) = default;
};

// From `step` on an expert is read from its slot, or no longer is. The first step that sees it: a
// swap leaves two of these, when the victim is gone and when the newcomer is visible.
struct TraceResidency {
  enum class Cause {
    kFill,     // Came with the fill at the start, or left to be verified or filled anew.
    kSwap,     // Newcomer or victim.
    kLend,     // Left because its slot was lent.
    kRefill,   // Came back into a slot that was lent.
    kLanding,  // Landed there in the step before, or made way for what did.
  };
  static constexpr int kNumCauses = 5;

  int64_t step = 0;
  int expert = 0;
  int slot = 0;
  bool resident = false;
  Cause cause = Cause::kFill;
  friend bool operator==(const TraceResidency&, const TraceResidency&) = default;
};

// So many slots were offered to the step for its misses to land in, and these did; which of them
// stayed is told by the changes of residency after it. A step without one offered nothing.
struct TraceLandings {
  struct Landed {
    int expert = 0;
    int slot = 0;
    friend bool operator==(const Landed&, const Landed&) = default;
  };

  int64_t step = 0;
  int num_offered = 0;
  std::vector<Landed> landed;  // In the order of landing; at most num_offered.
  friend bool operator==(const TraceLandings&, const TraceLandings&) = default;
};

using TraceRecord = std::variant<RoutedStep, TraceRates, TraceSwap, TraceResidency, TraceLandings>;

}  // namespace strata

#endif  // STRATA_CACHE_TRACE_TRACE_RECORDS_H_
