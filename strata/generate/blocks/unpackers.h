// One function per quantized type: bytes of a block to integers. Private to integer_block.
//
// Each is the layout of its type and nothing else; `part` is the integer block within the block of
// the file and 0 where there is only one. Fields are named at the top of each as they lie.
#ifndef STRATA_GENERATE_BLOCKS_UNPACKERS_H_
#define STRATA_GENERATE_BLOCKS_UNPACKERS_H_

#include <cstdint>

#include "strata/generate/blocks/integer_block.h"

namespace strata {

// out.factors[first .. first + count) = factor
inline void SetFactors(int factor, int first, int count, IntegerBlock& out) {
  for (int i = first; i < first + count; ++i) out.factors[i] = static_cast<int16_t>(factor);
}

// One integer code per weight under one scale.
void UnpackQ4_0(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ4_1(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ5_0(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ5_1(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ8_0(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ8_1(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ8_K(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ1_0(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ2_0(const uint8_t* block, int part, IntegerBlock& out);
void UnpackTQ1_0(const uint8_t* block, int part, IntegerBlock& out);
void UnpackTQ2_0(const uint8_t* block, int part, IntegerBlock& out);

// Codes under scales of sub-blocks.
void UnpackQ2_K(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ3_K(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ4_K(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ5_K(const uint8_t* block, int part, IntegerBlock& out);
void UnpackQ6_K(const uint8_t* block, int part, IntegerBlock& out);

// Codes of 4 bits that index 16 values.
void UnpackIQ4_NL(const uint8_t* block, int part, IntegerBlock& out);
void UnpackIQ4_XS(const uint8_t* block, int part, IntegerBlock& out);
void UnpackMXFP4(const uint8_t* block, int part, IntegerBlock& out);
void UnpackNVFP4(const uint8_t* block, int part, IntegerBlock& out);

// Codes that index rows of 4 or 8 values, with signs.
void UnpackIQ1_S(const uint8_t* block, int part, IntegerBlock& out);
void UnpackIQ1_M(const uint8_t* block, int part, IntegerBlock& out);
void UnpackIQ2_XXS(const uint8_t* block, int part, IntegerBlock& out);
void UnpackIQ2_XS(const uint8_t* block, int part, IntegerBlock& out);
void UnpackIQ2_S(const uint8_t* block, int part, IntegerBlock& out);
void UnpackIQ3_XXS(const uint8_t* block, int part, IntegerBlock& out);
void UnpackIQ3_S(const uint8_t* block, int part, IntegerBlock& out);

}  // namespace strata

#endif  // STRATA_GENERATE_BLOCKS_UNPACKERS_H_
