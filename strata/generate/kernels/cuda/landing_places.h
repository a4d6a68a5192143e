// Landing as kernels see it (cache/tier/landing.h): what a step offers, where the missed experts of
// the layer that is being computed land, and what has landed so far. Plain addresses of device
// memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_LANDING_PLACES_H_
#define STRATA_GENERATE_KERNELS_CUDA_LANDING_PLACES_H_

#include <cstddef>
#include <cstdint>

#include "strata/cache/tier/landing.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

static_assert(offsetof(LandingOffer, parts) == 0 && sizeof(LandingOffer().parts) == 24,
              "kernels read an offer as three addresses");

// Offers of a landing class. `num_given` is 0 at the beginning of a step.
struct DeviceLandingGroup {
  LandingGroup group;
  int32_t num_given = 0;
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

// Where parts of experts land, for kernels that read them: by index of the layer's experts, of those
// that the layer has chosen alone, the number of an offer, or a negative one. Null: nothing lands.
struct LandingPlaces {
  const int32_t* of_expert = nullptr;
  const LandingOffer* offers = nullptr;
};

// Of the offers of its class, how many are left for the misses of a layer.
STRATA_NUMERIC int NumOffersLeft(const DeviceLandingGroup& given, int layer, int first_layer) {
  const LandingGroup& group = given.group;
  const int end = layer < first_layer ? group.num_early : group.num_offers;
  return end > given.num_given ? end - given.num_given : 0;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_LANDING_PLACES_H_
