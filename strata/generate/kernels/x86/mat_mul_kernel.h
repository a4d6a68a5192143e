// What all kernels of a product look like, and which of them does it.
#ifndef STRATA_GENERATE_KERNELS_X86_MAT_MUL_KERNEL_H_
#define STRATA_GENERATE_KERNELS_X86_MAT_MUL_KERNEL_H_

#include <cstddef>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86 {

// As MatMul (strata/generate/kernels/mat_mul.h), without the look at the results. `rows` is not
// empty, nor are xs.
using MatMulKernel = void (*)(const WeightMatrix& weights, RowRange rows,
                              absl::Span<const ActivationView> xs, absl::Span<float* const> ys);

// The fastest kernel of the set, kAvx2 or kAvx512, for so many vectors of a type of weights.
MatMulKernel KernelFor(Isa isa, BlockType type, size_t num_vectors);

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_MAT_MUL_KERNEL_H_
