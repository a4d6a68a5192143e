// The families of AVX2 kernels. Each finds nothing for the types of the others.
#ifndef STRATA_GENERATE_KERNELS_X86_KERNELS_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_KERNELS_AVX2_H_

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx2 {

// Row by row, decoded in registers, for one or a few vectors.
MatMulKernel FindRowKernel256(BlockType type);  // Blocks of 256.
MatMulKernel FindRowKernel32(BlockType type);   // Blocks that meet activations of 32.

// F16, BF16 and F32, for any number of vectors.
MatMulKernel FindNumberKernel(BlockType type);

// For every quantized type and many vectors: rows are brought, 16 at a time, into an order in which
// a lane of a register is a row.
void MultiplyPanels(const WeightMatrix& weights, RowRange rows, absl::Span<const ActivationView> xs,
                    absl::Span<float* const> ys);

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_KERNELS_AVX2_H_
