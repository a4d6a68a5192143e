// The form of activations that weights of a type are multiplied with: f32 values themselves, or
// int8 values in blocks of 32 (A32) or 256 (A256) with a scale each.
#ifndef STRATA_GENERATE_BLOCKS_ACTIVATION_FORM_H_
#define STRATA_GENERATE_BLOCKS_ACTIVATION_FORM_H_

#include <optional>

#include "strata/core/block_type.h"

namespace strata {

enum class ActivationForm { kF32, kA32, kA256 };

// Values that share a scale, and values that share a sum. Both 1 for kF32, which has neither.
int BlockSizeOf(ActivationForm form);
int SumSizeOf(ActivationForm form);

// None for types that are never weights of a product (Q8_1, Q8_K, F64, integers).
std::optional<ActivationForm> ActivationFormOf(BlockType type);

}  // namespace strata

#endif  // STRATA_GENERATE_BLOCKS_ACTIVATION_FORM_H_
