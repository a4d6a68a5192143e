// Keeps what swaps take of the cores that compute within a share of the time. Where copies are made
// by those cores, a mover that runs beside a step delays it by more than its own time, since the
// threads of a step wait for each other.
//
// Pure: told what the time is. Used by the decode thread alone. Times in nanoseconds.
#ifndef STRATA_CACHE_TIER_SWAP_ALLOWANCE_H_
#define STRATA_CACHE_TIER_SWAP_ALLOWANCE_H_

#include <cstdint>

namespace strata {

class SwapAllowance {
 public:
  // `share` is above 0; from 1 on nothing is limited.
  explicit SwapAllowance(double share);

  // Deciding or moving took so long, and ended now: as much is to pass without either as makes it
  // the share.
  void Charge(int64_t work_ns, int64_t now_ns);
  // Whether swaps may be decided at this time.
  bool allows(int64_t now_ns) const { return now_ns >= free_from_ns_; }

 private:
  const double pause_per_work_;
  int64_t free_from_ns_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SWAP_ALLOWANCE_H_
