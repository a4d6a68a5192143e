// Where weight i of a block lies in the bytes of each type, as integers under one or two scales:
//
//     weight = scale * code + min_scale * min
//
// for host and device. The layouts are those of blocks/unpackers.h and are named there. A function
// returns true, so that calls can be chained.
#ifndef STRATA_GENERATE_KERNELS_CUDA_BLOCK_CODES_H_
#define STRATA_GENERATE_KERNELS_CUDA_BLOCK_CODES_H_

#include <cstdint>

#include "strata/generate/numerics/numerics.h"

namespace strata {

// The tables of blocks/block_tables.h as one object, which can be copied to a device.
struct BlockTables {
  int8_t values_iq4nl[16];
  int8_t values_mxfp4[16];
  uint8_t signs_iq2xs[128];
  uint8_t grid_iq2xxs[256][8];
  uint8_t grid_iq2xs[512][8];
  uint8_t grid_iq2s[1024][8];
  uint8_t grid_iq3xxs[256][4];
  uint8_t grid_iq3s[512][4];
  int8_t grid_iq1s[2048][8];
};

BlockTables MakeBlockTables();

struct BlockCode {
  float scale = 0.0f;
  int code = 0;  // A sub-block's factor times its weight, where there are sub-blocks.
  bool has_min = false;
  float min_scale = 0.0f;
  int min = 0;
};

STRATA_NUMERIC uint16_t LoadShort(const uint8_t* bytes) {
  return static_cast<uint16_t>(bytes[0] | bytes[1] << 8);
}
STRATA_NUMERIC uint32_t LoadWord(const uint8_t* bytes) {
  return LoadShort(bytes) | static_cast<uint32_t>(LoadShort(bytes + 2)) << 16;
}
STRATA_NUMERIC float LoadHalf(const uint8_t* bytes) { return f32::FromF16(LoadShort(bytes)); }

// As blocks/packed_bytes.h has them.
STRATA_NUMERIC int BitOf(const uint8_t* bytes, int i) { return bytes[i / 8] >> i % 8 & 1; }
STRATA_NUMERIC int PairedNibbleOf(const uint8_t* bytes, int i) {
  return bytes[i / 2] >> 4 * (i % 2) & 15;
}
STRATA_NUMERIC int SplitNibbleOf(const uint8_t* bytes, int n, int i) {
  return i < n ? bytes[i] & 15 : bytes[i - n] >> 4;
}
STRATA_NUMERIC int CrumbOf(const uint8_t* bytes, int i) {
  return bytes[i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
}

STRATA_NUMERIC bool PlainCode(float scale, int code, BlockCode& weight) {
  weight.scale = scale;
  weight.code = code;
  return true;
}

STRATA_NUMERIC bool WithMinimum(float min_scale, int min, BlockCode& weight) {
  weight.has_min = true;
  weight.min_scale = min_scale;
  weight.min = min;
  return true;
}

// The minimum of a block of 32 is a float of its own.
STRATA_NUMERIC bool WithMin(const uint8_t* half, BlockCode& weight) {
  return WithMinimum(LoadHalf(half), 1, weight);
}

STRATA_NUMERIC bool CodeOfQ4(const uint8_t* codes, float scale, int i, int addend,
                             BlockCode& weight) {
  return PlainCode(scale, SplitNibbleOf(codes, 16, i) + addend, weight);
}

STRATA_NUMERIC bool CodeOfQ5(const uint8_t* fifth_bits, const uint8_t* codes, float scale, int i,
                             int addend, BlockCode& weight) {
  const int code = SplitNibbleOf(codes, 16, i) | BitOf(fifth_bits, i) << 4;
  return PlainCode(scale, code + addend, weight);
}

STRATA_NUMERIC bool CodeOfQ2K(const uint8_t* block, int i, BlockCode& weight) {
  const int packed = block[i / 16];
  return PlainCode(LoadHalf(block + 80), (packed & 15) * CrumbOf(block + 16, i), weight) &&
         WithMinimum(-LoadHalf(block + 82), packed >> 4, weight);
}

STRATA_NUMERIC bool CodeOfQ3K(const uint8_t* block, int i, BlockCode& weight) {
  const uint8_t* const scales = block + 96;
  const int k = i / 16;
  const int upper_bits = scales[8 + k % 4] >> 2 * (k / 4) & 3;
  const int factor = (SplitNibbleOf(scales, 8, k) | upper_bits << 4) - 32;
  const int third_bit = block[i % 32] >> i / 32 & 1;
  const int code = (CrumbOf(block + 32, i) | third_bit << 2) - 4;
  return PlainCode(LoadHalf(block + 108), factor * code, weight);
}

// Q4_K and Q5_K; `high` is null for the first.
STRATA_NUMERIC bool CodeOfQ45K(const uint8_t* block, const uint8_t* codes, const uint8_t* high,
                               int i, BlockCode& weight) {
  const uint8_t* const packed = block + 4;
  const int k = i / 32;
  const int factor = k < 4 ? packed[k] & 63 : (packed[k + 4] & 15) | packed[k - 4] >> 6 << 4;
  const int min = k < 4 ? packed[k + 4] & 63 : packed[k + 4] >> 4 | packed[k] >> 6 << 4;
  const int fifth_bit = high == nullptr ? 0 : high[i % 32] >> k & 1;
  const int code = (codes[k / 2 * 32 + i % 32] >> k % 2 * 4 & 15) | fifth_bit << 4;
  return PlainCode(LoadHalf(block), factor * code, weight) &&
         WithMinimum(-LoadHalf(block + 2), min, weight);
}

STRATA_NUMERIC bool CodeOfQ6K(const uint8_t* block, int i, BlockCode& weight) {
  const int low = SplitNibbleOf(block + i / 128 * 64, 64, i % 128);
  const int code = (low | CrumbOf(block + 128, i) << 4) - 32;
  return PlainCode(LoadHalf(block + 208), static_cast<int8_t>(block[192 + i / 16]) * code, weight);
}

// 2^(exponent - 128), subnormal for exponents 0 and 1.
STRATA_NUMERIC float PowerOfTwoOf(uint32_t exponent) {
  return f32::FromBits(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
}

STRATA_NUMERIC float FloatOfUe4m3(uint8_t code) {
  if (code == 127) return 0.0f;
  const int exponent = code >> 3 & 15;
  const int fraction = code & 7;
  if (exponent == 0) return f32::Mul(f32::FromInt(fraction), 0x1p-9f);
  return f32::Mul(f32::FromInt(8 + fraction), PowerOfTwoOf(static_cast<uint32_t>(exponent + 118)));
}

STRATA_NUMERIC bool CodeOfIq4Xs(const BlockTables& tables, const uint8_t* block, int i,
                                BlockCode& weight) {
  const int k = i / 32;
  const int upper = LoadShort(block + 2) >> 2 * k & 3;
  const int factor = (PairedNibbleOf(block + 4, k) | upper << 4) - 32;
  const int value = tables.values_iq4nl[SplitNibbleOf(block + 8 + 16 * k, 16, i % 32)];
  return PlainCode(LoadHalf(block), factor * value, weight);
}

// Of a grid: a half-step factor 2 * scale + 1, a magnitude, and bit i of the signs.
STRATA_NUMERIC int GridCode(int scale, int magnitude, int signs, int i) {
  return (2 * scale + 1) * ((signs >> i & 1) != 0 ? -magnitude : magnitude);
}

STRATA_NUMERIC bool CodeOfIq2Xxs(const BlockTables& tables, const uint8_t* block, int i,
                                 BlockCode& weight) {
  const int k = i / 8;
  const uint8_t* const record = block + 2 + k / 4 * 8;
  const uint32_t codes = LoadWord(record + 4);
  const int signs = tables.signs_iq2xs[codes >> 7 * (k % 4) & 127];
  const int magnitude = tables.grid_iq2xxs[record[k % 4]][i % 8];
  return PlainCode(f32::Mul(LoadHalf(block), 0.125f),
                   GridCode(static_cast<int>(codes >> 28), magnitude, signs, i % 8), weight);
}

STRATA_NUMERIC bool CodeOfIq2Xs(const BlockTables& tables, const uint8_t* block, int i,
                                BlockCode& weight) {
  const int k = i / 8;
  const int code = LoadShort(block + 2 + 2 * k);
  const int magnitude = tables.grid_iq2xs[code & 511][i % 8];
  return PlainCode(
      f32::Mul(LoadHalf(block), 0.125f),
      GridCode(PairedNibbleOf(block + 66, k / 2), magnitude, tables.signs_iq2xs[code >> 9], i % 8),
      weight);
}

STRATA_NUMERIC bool CodeOfIq2S(const BlockTables& tables, const uint8_t* block, int i,
                               BlockCode& weight) {
  const int k = i / 8;
  const int row = block[2 + k] | (block[66 + k / 4] >> 2 * (k % 4) & 3) << 8;
  return PlainCode(f32::Mul(LoadHalf(block), 0.125f),
                   GridCode(PairedNibbleOf(block + 74, k / 2), tables.grid_iq2s[row][i % 8],
                            block[34 + k], i % 8),
                   weight);
}

STRATA_NUMERIC bool CodeOfIq3Xxs(const BlockTables& tables, const uint8_t* block, int i,
                                 BlockCode& weight) {
  const int k = i / 8;
  const uint32_t codes = LoadWord(block + 66 + k / 4 * 4);
  const int signs = tables.signs_iq2xs[codes >> 7 * (k % 4) & 127];
  const int magnitude = tables.grid_iq3xxs[block[2 + i / 4]][i % 4];
  return PlainCode(f32::Mul(LoadHalf(block), 0.25f),
                   GridCode(static_cast<int>(codes >> 28), magnitude, signs, i % 8), weight);
}

STRATA_NUMERIC bool CodeOfIq3S(const BlockTables& tables, const uint8_t* block, int i,
                               BlockCode& weight) {
  const int row = block[2 + i / 4] | BitOf(block + 66, i / 4) << 8;
  return PlainCode(LoadHalf(block),
                   GridCode(PairedNibbleOf(block + 106, i / 32), tables.grid_iq3s[row][i % 4],
                            block[74 + i / 8], i % 8),
                   weight);
}

// In eighths: a row of -1, 0, 1, each moved down or up by an eighth.
STRATA_NUMERIC int TernaryGridCode(int scale, int value, bool down) {
  return (2 * scale + 1) * (8 * value + (down ? -1 : 1));
}

STRATA_NUMERIC bool CodeOfIq1S(const BlockTables& tables, const uint8_t* block, int i,
                               BlockCode& weight) {
  const int k = i / 8;
  const int high = LoadShort(block + 34 + k / 4 * 2);
  const int row = block[2 + k] | (high >> 3 * (k % 4) & 7) << 8;
  return PlainCode(f32::Mul(LoadHalf(block), 0.125f),
                   TernaryGridCode(high >> 12 & 7, tables.grid_iq1s[row][i % 8], (high >> 15) != 0),
                   weight);
}

STRATA_NUMERIC bool CodeOfIq1M(const BlockTables& tables, const uint8_t* block, int i,
                               BlockCode& weight) {
  int d = 0;
  for (int j = 0; j < 4; ++j) d |= LoadShort(block + 48 + 2 * j) >> 12 << 4 * j;
  const int k = i / 8;
  const int nibble = PairedNibbleOf(block + 32, k);
  const int row = block[k] | (nibble & 7) << 8;
  const int scales = LoadShort(block + 48 + k / 8 * 2);
  return PlainCode(f32::Mul(f32::FromF16(static_cast<uint16_t>(d)), 0.125f),
                   TernaryGridCode(scales >> 3 * (k / 2 % 4) & 7, tables.grid_iq1s[row][i % 8],
                                   (nibble & 8) != 0),
                   weight);
}

// Runs of bytes that hold 5, 5 and 4 base-3 digits: of each run the first digits of all bytes come
// first.
STRATA_NUMERIC int TernaryDigit(const uint8_t* block, int i) {
  const int first_byte = i < 160 ? 0 : i < 240 ? 32 : 48;
  const int num_bytes = i < 160 ? 32 : i < 240 ? 16 : 4;
  const int of_run = i < 160 ? i : i < 240 ? i - 160 : i - 240;
  int fraction = block[first_byte + of_run % num_bytes];
  for (int digit = 0; digit < of_run / num_bytes; ++digit) fraction *= 3;
  return ((fraction & 255) * 3 >> 8) - 1;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_BLOCK_CODES_H_
