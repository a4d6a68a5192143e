// What a profile says about a cache: how large a share of the routed entries the hottest experts
// serve, and how evenly the experts are used.
#ifndef STRATA_CACHE_PROFILE_PROFILE_FIGURES_H_
#define STRATA_CACHE_PROFILE_PROFILE_FIGURES_H_

#include <cstdint>
#include <vector>

#include "strata/cache/profile/expert_profile.h"

namespace strata {

// The hit rate of a cache that holds the first so many experts of Rank(), over the texts of the
// profile itself. Thread-compatible.
class CoverageCurve {
 public:
  struct Point {
    int64_t blob_bytes = 0;    // Of the hottest experts together,
    uint64_t num_entries = 0;  // and the routed entries that went to them.
    friend bool operator==(const Point&, const Point&) = default;
  };

  explicit CoverageCurve(const ExpertProfile& profile);

  // Point k is of the k hottest, from 0 to all.
  const std::vector<Point>& points() const { return points_; }
  // Of all entries; 0 for a profile that counted none.
  double Share(int num_experts) const;
  // As many of the hottest as fit into `bytes`, without leaving one out.
  int NumExpertsWithin(int64_t bytes) const;

 private:
  std::vector<Point> points_;
};

// Entropy of the choice among the experts, in bits: 0 when one expert takes all, log2(n) when n are
// used alike. 2 to its power is the number of experts that, used alike, would be as hard to guess.
// Of each layer, in the order of the geometry:
std::vector<double> LayerEntropies(const ExpertProfile& profile);
// and of all experts together:
double TotalEntropy(const ExpertProfile& profile);

}  // namespace strata

#endif  // STRATA_CACHE_PROFILE_PROFILE_FIGURES_H_
