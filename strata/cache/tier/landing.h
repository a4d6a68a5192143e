// What the host and the kernels of a step tell each other about landing: a kernel that reads a
// missed expert's bytes over the link also stores them into a slot that this step offers, so that
// an admission moves no byte twice. The table does not change during the step: what has landed is
// seen by later ones.
//
// A landing class is the layers whose blobs are laid out alike. Each class has a group of offers. A
// step gives them out in the order in which its layers run, in a layer to missed experts whose
// entries are marked, by ascending index: the next offer of the group, while there is one. Layers
// before the step's `first_layer` may take the first `num_early` of the group alone, so that those
// at the end do not always come too late; `first_layer` goes round from step to step.
//
// Plain values, for kernels as well.
#ifndef STRATA_CACHE_TIER_LANDING_H_
#define STRATA_CACHE_TIER_LANDING_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace strata {

// An offered slot of the step that has begun.
struct LandingOffer {
  std::array<std::byte*, 3> parts = {};  // Where the parts go, in device memory.
  int32_t slot = 0;
  int32_t landing_class = 0;
};
static_assert(sizeof(LandingOffer) == 32, "kernels read offers of 32 bytes");

// The offers of a landing class, among those of the step.
struct LandingGroup {
  int32_t first_offer = 0;
  int32_t num_offers = 0;
  int32_t num_early = 0;  // At most num_offers.
};

// What a step's result says: the expert's bytes are in the slot. In the order of giving out.
struct Landing {
  int32_t expert = 0;  // Its number.
  int32_t slot = 0;
  friend bool operator==(const Landing&, const Landing&) = default;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_LANDING_H_
