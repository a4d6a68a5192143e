#include <cstdint>

#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/blocks/unpackers.h"
#include "strata/generate/numerics/numerics.h"

// Scales of these types are half-steps, d * (t + 1/2), times a power of two. The factors are 2t +
// 1, and the rest goes into the scale of the block.

namespace strata {
namespace {

// weights[j] = row[j], negated where bit j of `signs` is set, counting from `first_bit`.
template <int kValues>
void PlaceRow(const uint8_t (&row)[kValues], int signs, int first_bit, int8_t* weights) {
  for (int j = 0; j < kValues; ++j) {
    weights[j] = static_cast<int8_t>((signs >> (first_bit + j) & 1) != 0 ? -row[j] : row[j]);
  }
}

// Eight weights from two rows of four.
void PlaceTwoRows(const uint8_t (&first)[4], const uint8_t (&second)[4], int signs,
                  int8_t* weights) {
  PlaceRow(first, signs, 0, weights);
  PlaceRow(second, signs, 4, weights + 4);
}

// A row of -1, 0, 1, each moved up or down by an eighth, in eighths.
void PlaceTernaryRow(const int8_t (&row)[8], bool down, int8_t* weights) {
  for (int j = 0; j < 8; ++j) weights[j] = static_cast<int8_t>(8 * row[j] + (down ? -1 : 1));
}

}  // namespace

// f16 d | 8 records: { 4 bytes: rows | u32: four 7-bit sign codes, scale in the top 4 bits }
void UnpackIQ2_XXS(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = f32::Mul(LoadF16(block), 0.125f);
  for (int k = 0; k < 32; ++k) {
    const uint8_t* record = block + 2 + k / 4 * 8;
    const uint32_t codes = Load<uint32_t>(record + 4);
    SetFactors(2 * static_cast<int>(codes >> 28) + 1, k / 2, 1, out);
    const int signs = kSignsIq2xs[codes >> 7 * (k % 4) & 127];
    PlaceRow(kGridIq2xxs[record[k % 4]], signs, 0, out.weights + 8 * k);
  }
}

// f16 d | 32 u16: row in 9 bits, sign code in 7 | 8 bytes: scale of each 16
void UnpackIQ2_XS(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = f32::Mul(LoadF16(block), 0.125f);
  for (int k = 0; k < 32; ++k) {
    const int code = Load<uint16_t>(block + 2 + 2 * k);
    SetFactors(2 * PairedNibble(block + 66, k / 2) + 1, k / 2, 1, out);
    PlaceRow(kGridIq2xs[code & 511], kSignsIq2xs[code >> 9], 0, out.weights + 8 * k);
  }
}

// f16 d | 32 bytes: rows | 32 bytes: signs | 8 bytes: two upper bits of the rows | 8 bytes: scale
// of each 16
void UnpackIQ2_S(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = f32::Mul(LoadF16(block), 0.125f);
  for (int k = 0; k < 32; ++k) {
    const int upper_bits = block[66 + k / 4] >> 2 * (k % 4) & 3;
    const int row = block[2 + k] | upper_bits << 8;
    SetFactors(2 * PairedNibble(block + 74, k / 2) + 1, k / 2, 1, out);
    PlaceRow(kGridIq2s[row], block[34 + k], 0, out.weights + 8 * k);
  }
}

// f16 d | 64 bytes: rows | 8 u32: four 7-bit sign codes, scale in the top 4 bits
void UnpackIQ3_XXS(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  const uint8_t* rows = block + 2;
  out.scale = f32::Mul(LoadF16(block), 0.25f);
  for (int k = 0; k < 32; ++k) {
    const uint32_t codes = Load<uint32_t>(block + 66 + k / 4 * 4);
    SetFactors(2 * static_cast<int>(codes >> 28) + 1, k / 2, 1, out);
    const int signs = kSignsIq2xs[codes >> 7 * (k % 4) & 127];
    PlaceTwoRows(kGridIq3xxs[rows[2 * k]], kGridIq3xxs[rows[2 * k + 1]], signs,
                 out.weights + 8 * k);
  }
}

// f16 d | 64 bytes: rows | 8 bytes: their upper bits | 32 bytes: signs | 4 bytes: scale of each 32
void UnpackIQ3_S(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  const uint8_t* rows = block + 2;
  const uint8_t* upper_bits = block + 66;
  out.scale = LoadF16(block);
  for (int k = 0; k < 32; ++k) {
    const int first = rows[2 * k] | Bit(upper_bits, 2 * k) << 8;
    const int second = rows[2 * k + 1] | Bit(upper_bits, 2 * k + 1) << 8;
    SetFactors(2 * PairedNibble(block + 106, k / 4) + 1, k / 2, 1, out);
    PlaceTwoRows(kGridIq3s[first], kGridIq3s[second], block[74 + k], out.weights + 8 * k);
  }
}

// f16 d | 32 bytes: rows | 8 u16: three upper bits of four rows, 3-bit scale, direction of the
// shift
void UnpackIQ1_S(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = f32::Mul(LoadF16(block), 0.125f);
  for (int k = 0; k < 32; ++k) {
    const int high = Load<uint16_t>(block + 34 + k / 4 * 2);
    const int row = block[2 + k] | (high >> 3 * (k % 4) & 7) << 8;
    SetFactors(2 * (high >> 12 & 7) + 1, k / 2, 1, out);
    PlaceTernaryRow(kGridIq1s[row], (high >> 15) != 0, out.weights + 8 * k);
  }
}

// 32 bytes: rows | 16 bytes: nibbles of three upper bits and the direction of the shift | 4 u16:
// four 3-bit scales each, one for 16 weights, and in the top four bits a quarter of f16 d
void UnpackIQ1_M(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  int d = 0;
  for (int i = 0; i < 4; ++i) d |= Load<uint16_t>(block + 48 + 2 * i) >> 12 << 4 * i;
  out.scale = f32::Mul(f32::FromF16(static_cast<uint16_t>(d)), 0.125f);
  for (int k = 0; k < 32; ++k) {
    const int nibble = PairedNibble(block + 32, k);
    const int row = block[k] | (nibble & 7) << 8;
    const int sixteen = k / 2;
    const int scales = Load<uint16_t>(block + 48 + sixteen / 4 * 2);
    SetFactors(2 * (scales >> 3 * (sixteen % 4) & 7) + 1, sixteen, 1, out);
    PlaceTernaryRow(kGridIq1s[row], (nibble & 8) != 0, out.weights + 8 * k);
  }
}

}  // namespace strata
