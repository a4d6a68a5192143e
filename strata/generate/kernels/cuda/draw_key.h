// A logit and its token as one integer, so that the greatest is the most likely token and of equal
// ones the lowest id.
#ifndef STRATA_GENERATE_KERNELS_CUDA_DRAW_KEY_H_
#define STRATA_GENERATE_KERNELS_CUDA_DRAW_KEY_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// Never 0, which is below all of them. The logit is finite; both zeros are the same.
STRATA_NUMERIC uint64_t DrawKey(float logit, uint32_t token) {
  return static_cast<uint64_t>(OrderedBits(f32::Add(logit, 0.0f))) << 32 | (~token & 0xffffffffu);
}

// Token 0 where nothing was drawn.
STRATA_NUMERIC int32_t TokenOfDrawKey(uint64_t key) {
  return key == 0 ? 0 : static_cast<int32_t>(~static_cast<uint32_t>(key));
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_DRAW_KEY_H_
