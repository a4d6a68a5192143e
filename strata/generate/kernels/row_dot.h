// The dot product of a row of weights with activations: the definition of its bits. Kernels of
// any instruction set or device must equal it.
//
// Quantized weights: each block gives one exact integer I (and M for the minimum, where the type
// has one). A group is 256 weights, the last of a row perhaps fewer; inside it a chain
// G = fma(s * da, I, G), then G = fma(m * da, M, G), runs over the blocks, where s and m are the
// scales of the weights and da that of the activations. The groups are added in ascending order.
//
// F32, F16 and BF16 weights: the 128 accumulators of accumulators.h.
#ifndef STRATA_GENERATE_KERNELS_ROW_DOT_H_
#define STRATA_GENERATE_KERNELS_ROW_DOT_H_

#include <cstddef>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/kernels/activation.h"

namespace strata {

// results[v] = row . xs[v]; all of one size and of the form that `type` asks for. The row is
// unpacked once for all. A result is NaN or infinite when a scale in the row is.
void RowDots(BlockType type, const std::byte* row, absl::Span<const ActivationView> xs,
             absl::Span<float> results);

// The same for one vector.
float RowDot(BlockType type, const std::byte* row, const ActivationView& x);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_ROW_DOT_H_
