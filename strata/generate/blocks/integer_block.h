// A block of quantized weights before any rounding: integers under one or two scales.
//
//     weight i = scale * factors[i / 16] * weights[i] + min_scale * mins[i / n]
//
// where n is the weights per min, and without the factors in blocks of fewer than 256. Decoding and
// dot products of all quantized types are made from this form: each type only says how its bytes
// unpack into it. Factors are the scales of sub-blocks; their powers of two go into `scale` (which
// is exact). With activations a, the exact integers of a dot product are
// I = sum factors[i / 16] * weights[i] * a[i] and M = sum mins[j] * sums[j].
//
// The layouts of the bytes are facts of the file format (ggml, see NOTICE).
#ifndef STRATA_GENERATE_BLOCKS_INTEGER_BLOCK_H_
#define STRATA_GENERATE_BLOCKS_INTEGER_BLOCK_H_

#include <cstdint>
#include <optional>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"

namespace strata {

inline constexpr int kWeightsPerFactor = 16;

struct IntegerBlock {
  float scale;
  float min_scale;  // As mins: only when the format has_mins.
  int8_t weights[256];
  int16_t factors[16];  // At most 14 bits when multiplied with a weight.
  int16_t mins[16];     // One for each stored sum of the activations the block meets.
};

// How a type unpacks. A block of the file holds block_weights / integer_weights integer blocks.
struct IntegerFormat {
  BlockType type;
  // The activations its dot product reads; none for types that only hold activations themselves.
  std::optional<ActivationForm> activation;
  int integer_weights;  // Weights of one integer block: 16, 32 or 256.
  bool has_mins;
  int factor_weights;  // Weights that share a factor, 16, 32 or 256; 0 for none.
  bool has_factors() const { return factor_weights > 0; }
  // `part` is the integer block within the block of the file.
  void (*unpack)(const uint8_t* block, int part, IntegerBlock& out);
};

// Null for types that hold plain numbers (F32, F16, BF16, F64, I8 to I64).
const IntegerFormat* FindIntegerFormat(BlockType type);

}  // namespace strata

#endif  // STRATA_GENERATE_BLOCKS_INTEGER_BLOCK_H_
