// Blocks of random bits with finite scales, for tests that compare two ways to compute the same.
#ifndef STRATA_GENERATE_BLOCKS_RANDOM_WEIGHTS_H_
#define STRATA_GENERATE_BLOCKS_RANDOM_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "strata/core/block_type.h"

namespace strata {

// Where the f16 scale of a type lies in its block, and that of its minimum; -1 where there is none
// (IQ1_M keeps its scale in pieces, MXFP4 and NVFP4 have scales of their own kinds).
struct ScaleOffsets {
  int scale = -1;
  int min_scale = -1;
};
ScaleOffsets ScaleOffsetsOf(BlockType type);

// `num_weights` weights, whole blocks, of a type that ActivationFormOf knows. Magnitudes of scales
// are within 2^-14 .. 2, of plain numbers too.
std::vector<std::byte> RandomWeights(BlockType type, int64_t num_weights, std::mt19937& random);

// Normal values around zero, whose spread differs from one run of 32 to the next.
std::vector<float> RandomActivations(int64_t size, std::mt19937& random);

}  // namespace strata

#endif  // STRATA_GENERATE_BLOCKS_RANDOM_WEIGHTS_H_
