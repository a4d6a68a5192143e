// Landing as kernels see it (cache/tier/landing.h): what a step offers, and what has landed.
#ifndef STRATA_GENERATE_KERNELS_CUDA_LANDING_PLACES_H_
#define STRATA_GENERATE_KERNELS_CUDA_LANDING_PLACES_H_

#include <cstddef>
#include <cstdint>

#include "strata/cache/tier/landing.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

static_assert(offsetof(LandingOffer, parts) == 0 && sizeof(LandingOffer().parts) == 24,
              "kernels read an offer as three addresses");

// Offers of a landing class, and how many of them were given out: layers read one of the counts and
// write the other, so that no thread of a layer's kernel sees what another has written.
struct DeviceLandingGroup {
  LandingGroup group;
  int16_t num_given[2] = {};  // By layer % 2. Both are 0 at the beginning of a step.
};
static_assert(sizeof(DeviceLandingGroup) == 16);

// The beginning of what a step's block says of landing; the groups follow it, then the offers.
struct DeviceLandingHead {
  int32_t first_layer = 0;
  int32_t padding[3] = {};
};
static_assert(sizeof(DeviceLandingHead) == 16);

// Of a step, in device memory, as it goes to the host: the list follows it.
struct DeviceLandingCount {
  int32_t count = 0;
  int32_t padding[3] = {};
};

// Of the offers of its class, of which so many were given out, how many are left for a layer.
STRATA_NUMERIC int NumOffersLeft(const LandingGroup& group, int num_given, int layer,
                                 int first_layer) {
  const int end = layer < first_layer ? group.num_early : group.num_offers;
  return end > num_given ? end - num_given : 0;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_LANDING_PLACES_H_
