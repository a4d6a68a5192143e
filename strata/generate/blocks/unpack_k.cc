#include <cstdint>

#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/blocks/unpackers.h"

namespace strata {
namespace {

// The 6-bit scale and minimum of each 32 weights of Q4_K and Q5_K, packed in 12 bytes: of the first
// four in the low bits of 4 bytes each, of the last four in nibbles with their upper bits above
// those of the first.
struct ScaleAndMin {
  int scale;
  int min;
};

ScaleAndMin ScaleAndMinOf(const uint8_t* packed, int i) {
  if (i < 4) return {packed[i] & 63, packed[i + 4] & 63};
  return {(packed[i + 4] & 15) | packed[i - 4] >> 6 << 4, packed[i + 4] >> 4 | packed[i] >> 6 << 4};
}

// d and dmin of f16 at the start, 12 bytes of scales after them; `codes` holds four runs of 32
// bytes, 64 weights each. In `high`, where the type has it, bit k of byte j is the fifth of weight
// 32k + j.
void UnpackSixBitScales(const uint8_t* block, const uint8_t* codes, const uint8_t* high,
                        IntegerBlock& out) {
  out.scale = LoadF16(block);
  out.min_scale = -LoadF16(block + 2);
  for (int i = 0; i < 8; ++i) {
    const ScaleAndMin packed = ScaleAndMinOf(block + 4, i);
    const uint8_t* run = codes + i / 2 * 32;
    const int shift = i % 2 * 4;
    for (int j = 0; j < 32; ++j) {
      const int fifth_bit = high == nullptr ? 0 : high[j] >> i & 1;
      out.weights[32 * i + j] = static_cast<int8_t>((run[j] >> shift & 15) | fifth_bit << 4);
    }
    SetFactors(packed.scale, 2 * i, 2, out);
    // One minimum serves the two sums of 16 activations in its 32.
    out.mins[2 * i] = static_cast<int16_t>(packed.min);
    out.mins[2 * i + 1] = static_cast<int16_t>(packed.min);
  }
}

}  // namespace

// 16 bytes: scale and minimum of each 16 | 64 bytes of crumbs | f16 d | f16 dmin
void UnpackQ2_K(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block + 80);
  out.min_scale = -LoadF16(block + 82);
  for (int i = 0; i < 16; ++i) {
    out.factors[i] = block[i] & 15;
    out.mins[i] = block[i] >> 4;
  }
  for (int i = 0; i < 256; ++i) out.weights[i] = static_cast<int8_t>(Crumb(block + 16, i));
}

// 32 bytes of third bits | 64 bytes of crumbs | 12 bytes of 6-bit scales | f16 d
void UnpackQ3_K(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  const uint8_t* third_bits = block;
  const uint8_t* scales = block + 96;
  out.scale = LoadF16(block + 108);
  for (int i = 0; i < 16; ++i) {
    const int upper_bits = scales[8 + i % 4] >> 2 * (i / 4) & 3;
    out.factors[i] = static_cast<int16_t>((SplitNibble(scales, 8, i) | upper_bits << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    const int third_bit = third_bits[i % 32] >> i / 32 & 1;
    out.weights[i] = static_cast<int8_t>((Crumb(block + 32, i) | third_bit << 2) - 4);
  }
}

// f16 d | f16 dmin | 12 bytes of 6-bit scales and minimums | 128 bytes
void UnpackQ4_K(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  UnpackSixBitScales(block, block + 16, nullptr, out);
}

// f16 d | f16 dmin | 12 bytes of 6-bit scales and minimums | 32 bytes of fifth bits | 128 bytes
void UnpackQ5_K(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  UnpackSixBitScales(block, block + 48, block + 16, out);
}

// 128 bytes of low nibbles | 64 bytes of crumbs above them | 16 int8 scales | f16 d
void UnpackQ6_K(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block + 208);
  for (int i = 0; i < 16; ++i) out.factors[i] = static_cast<int8_t>(block[192 + i]);
  for (int i = 0; i < 256; ++i) {
    const int low = SplitNibble(block + i / 128 * 64, 64, i % 128);
    const int high = Crumb(block + 128, i);
    out.weights[i] = static_cast<int8_t>((low | high << 4) - 32);
  }
}

}  // namespace strata
