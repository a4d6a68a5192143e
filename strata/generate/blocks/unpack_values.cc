#include <cstdint>

#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/blocks/unpackers.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

// 2n values from n bytes: those of the low nibbles, then those of the high ones.
void LookUp(const int8_t* values, const uint8_t* codes, int n, int8_t* weights) {
  for (int j = 0; j < n; ++j) {
    weights[j] = values[codes[j] & 15];
    weights[j + n] = values[codes[j] >> 4];
  }
}

// 2^(exponent - 128), subnormal for exponents 0 and 1.
float PowerOfTwo(uint32_t exponent) {
  return f32::FromBits(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
}

// An unsigned float of 4 exponent and 3 fraction bits, biased by 7. The code of all ones is zero.
float FromUe4m3(uint8_t code) {
  if (code == 127) return 0.0f;
  const int exponent = code >> 3 & 15;
  const int fraction = code & 7;
  if (exponent == 0) return f32::Mul(f32::FromInt(fraction), 0x1p-9f);
  return f32::Mul(f32::FromInt(8 + fraction), PowerOfTwo(static_cast<uint32_t>(exponent + 118)));
}

}  // namespace

// f16 d | 16 bytes
void UnpackIQ4_NL(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block);
  LookUp(kValuesIq4nl, block + 2, 16, out.weights);
}

// f16 d | u16 upper two bits of the scales | 4 bytes of their low nibbles | 8 runs of 16 bytes
void UnpackIQ4_XS(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  const uint32_t upper_bits = Load<uint16_t>(block + 2);
  out.scale = LoadF16(block);
  for (int i = 0; i < 8; ++i) {
    const int upper = static_cast<int>(upper_bits >> 2 * i & 3);
    SetFactors((PairedNibble(block + 4, i) | upper << 4) - 32, 2 * i, 2, out);
    LookUp(kValuesIq4nl, block + 8 + 16 * i, 16, out.weights + 32 * i);
  }
}

// u8 exponent | 16 bytes
void UnpackMXFP4(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = PowerOfTwo(block[0]);  // 128 below: the table holds twice the values.
  LookUp(kValuesMxfp4, block + 1, 16, out.weights);
}

// 4 scale bytes | 4 runs of 8 bytes
void UnpackNVFP4(const uint8_t* block, int part, IntegerBlock& out) {
  out.scale = f32::Mul(FromUe4m3(block[part]), 0.5f);  // The table holds twice the values.
  LookUp(kValuesMxfp4, block + 4 + 8 * part, 8, out.weights);
}

}  // namespace strata
