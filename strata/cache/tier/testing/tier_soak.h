// A tier that swaps, fills and lends all the time on a device that may be a real one, under steps
// that read their experts and compare them with the files: one body for HostDevice and for a card.
//
// Failures are GoogleTest's. Prints what happened and how fast it was.
#ifndef STRATA_CACHE_TIER_TESTING_TIER_SOAK_H_
#define STRATA_CACHE_TIER_TESTING_TIER_SOAK_H_

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/core/device.h"

namespace strata {

struct TierSoakOptions {
  TestExperts::Options experts;
  TierParts::Host host = TierParts::Host::kRegistered;
  int num_slots = 0;
  int num_used = 4;              // By a token in each layer.
  bool fills_while_run = false;  // In the background, under the first steps.
  int steps_per_loan = 32;       // On average.
  int64_t num_steps = 0;
};

// Where files cannot be pinned in place, the test with kRegistered is skipped.
void SoakTier(Device& device, const TierSoakOptions& options);

// The other way round: what a swap in the wrong order leaves behind, made by hand, must be found by
// the comparison that SoakTier relies on.
void ExpectSoakFindsWhatIsWrong(Device& device);

// Names tests of each host.
std::string NameOfHost(const ::testing::TestParamInfo<TierParts::Host>& host);

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_TIER_SOAK_H_
