// Where the lanes of a warp find the fragments of tensor core instructions in shared memory. For
// host and device.
//
// A warp multiplies 16 rows of A with 8 columns of B: lane l has g = l / 4 and t = l % 4. Of the
// result it holds rows g (0, 1) and g + 8 (2, 3), columns 2t and 2t + 1. An operand register has
// four bytes or two halves that neighbour in k: those from number 4t, or 2t, on of a run of 16
// bytes; A's registers are (row g, run 0), (row g + 8, run 0), (row g, run 1), (row g + 8, run 1),
// B's (column g, run 0), (column g, run 1). These are what ldmatrix gives for matrices of 8 rows of
// 16 bytes, whatever the type; it takes the address of row l % 8 of matrix l / 8 from lane l.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_FRAGMENTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_FRAGMENTS_H_

#include <cstdint>

#include "strata/generate/numerics/numerics.h"

namespace strata {

// Offsets in bytes, where rows begin `stride` apart. Of A: 16 rows, two runs.
STRATA_NUMERIC uint32_t OffsetInA(int lane, int stride) {
  return static_cast<uint32_t>(lane % 16 * stride + lane / 16 * 16);
}

// Of two neighbouring Bs whose columns are rows of memory: the registers of the first, then those
// of the second.
STRATA_NUMERIC uint32_t OffsetInTwoBs(int lane, int stride) {
  return static_cast<uint32_t>((lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 16);
}

// The same where k, 16 halves of it, goes along rows of memory and each matrix is transposed.
STRATA_NUMERIC uint32_t OffsetInTwoTransposedBs(int lane, int stride) {
  return static_cast<uint32_t>(lane % 16 * stride + lane / 16 * 16);
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_FRAGMENTS_H_
