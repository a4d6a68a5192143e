// Which experts should take the place of which in the slots: decided from counts of what was used,
// and from what copies and misses cost. Pure: no device, no clock, no randomness; the same calls
// give the same swaps, in the engine and in the replay of a trace.
//
// A round is `adapt_every` steps. The count of an expert is its uses by accepted tokens, those of
// the round `a` rounds ago weighted by decay^a. An expert that is used `u` times a round has the
// count u / (1 - decay) in the long run: the number of uses to expect over the next
// 1 / (1 - decay) rounds, the horizon. A swap is expected to save, over the horizon,
//   (count of the newcomer - count of the victim) * cost of a miss - cost of the copy
// and is worth it when the first term exceeds the second by the margin.
//
// Used by one thread. Nothing is allocated after the constructor. Sizes in bytes, times in ns.
#ifndef STRATA_CACHE_POLICY_SWAP_POLICY_H_
#define STRATA_CACHE_POLICY_SWAP_POLICY_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {

// What moving and missing cost on this machine, as measured while running.
struct SwapRates {
  double copy_bytes_per_ns = 0;  // Of copies to the device: 50 GB/s is 50.
  double miss_fixed_ns = 0;      // A miss costs this, and for each byte of its blob
  double miss_ns_per_byte = 0;   // this, more than a hit.

  double CopyNs(int64_t bytes) const { return static_cast<double>(bytes) / copy_bytes_per_ns; }
  double MissNs(int64_t bytes) const {
    return miss_fixed_ns + miss_ns_per_byte * static_cast<double>(bytes);
  }
  // False before anything was measured, and for what a measurement of nothing gives, such as bytes
  // in no time: no swap is worth it by such rates.
  bool are_known() const {
    return copy_bytes_per_ns > 0 && std::isfinite(copy_bytes_per_ns) && miss_fixed_ns >= 0 &&
           std::isfinite(miss_fixed_ns) && miss_ns_per_byte >= 0 && std::isfinite(miss_ns_per_byte);
  }
  friend bool operator==(const SwapRates&, const SwapRates&) = default;
};

class SwapPolicy {
 public:
  struct Options {
    int adapt_every = 4;                                      // Steps of a round.
    int max_swaps = 32;                                       // Of a round; 0: none ever.
    int64_t max_bytes = std::numeric_limits<int64_t>::max();  // Of a round's copies.
    double decay = 0.99;                                      // Of counts, each round; below 1.
    double margin = 0.25;  // Uses must save (1 + margin) times what the copy costs.
    friend bool operator==(const Options&, const Options&) = default;
  };

  // Where an expert is, for a decision.
  enum class Place : uint8_t {
    kHost,  // In no slot: may come.
    kSlot,  // In a slot: may leave.
    kBusy,  // Something is being done with it already.
  };

  struct Swap {
    int newcomer = 0;
    int victim = -1;  // Of the same size class; -1: the newcomer takes an empty slot.
    int64_t bytes = 0;
    double predicted_saving_ns = 0;  // Over the horizon, the copy paid.
    friend bool operator==(const Swap&, const Swap&) = default;
  };

  // Among experts of equal counts the one that comes first in the ranking, numbers of all experts,
  // is the hotter.
  SwapPolicy(const ExpertGeometry& geometry, const Options& options,
             absl::Span<const int> hottest_first);

  // Counts to begin with: the uses that a profile lets expect over the horizon, by number.
  void Seed(absl::Span<const float> expected_uses);

  // Uses by accepted tokens, together: the sum is rounded once.
  void CountUses(int number, int uses) { counts_[number] += static_cast<float>(uses); }
  // The swaps that are worth it now, best first: at most max_swaps and max_bytes. `places` is by
  // number, `num_empty` the empty slots by size class. Good until the next call.
  absl::Span<const Swap> Decide(const SwapRates& rates, absl::Span<const Place> places,
                                absl::Span<const int> num_empty);
  // After the decision, or without one.
  void EndRound();

  const Options& options() const { return options_; }
  // Whole rounds, from 1 to 1,000.
  int64_t horizon_rounds() const { return horizon_rounds_; }
  float count(int number) const { return counts_[number]; }
  // Hotter by count, then by ranking.
  bool IsHotter(int number, int other) const {
    if (counts_[number] != counts_[other]) return counts_[number] > counts_[other];
    return rank_[number] < rank_[other];
  }

 private:
  // The best newcomers and the coldest victims of a size class, at most max_swaps of each.
  struct Candidates {
    std::vector<int> newcomers;  // While scanning a heap, the coldest first.
    std::vector<int> victims;    // While scanning a heap, the hottest first.
  };

  void Collect(absl::Span<const Place> places);
  void AddPairs(const SwapRates& rates, int size_class, int num_empty);
  void KeepBest();

  const Options options_;
  const int64_t horizon_rounds_;
  const int num_experts_;  // Of a layer.
  std::vector<int64_t> class_bytes_;
  std::vector<int> class_of_layer_;
  std::vector<int> rank_;               // By number: its rank, 0 for the hottest.
  std::vector<float> counts_;           // By number.
  std::vector<Candidates> candidates_;  // By size class.
  std::vector<Swap> swaps_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_SWAP_POLICY_H_
