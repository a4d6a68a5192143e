#include "strata/cache/tier/swap_allowance.h"

#include <algorithm>
#include <cstdint>

#include "glog/logging.h"

namespace strata {

SwapAllowance::SwapAllowance(double share) : pause_per_work_(share < 1 ? (1 - share) / share : 0) {
  CHECK(share > 0) << "a share of " << share;
}

void SwapAllowance::Charge(int64_t work_ns, int64_t now_ns) {
  const auto pause_ns = static_cast<int64_t>(static_cast<double>(work_ns) * pause_per_work_);
  free_from_ns_ = std::max(free_from_ns_, now_ns) + pause_ns;
}

}  // namespace strata
