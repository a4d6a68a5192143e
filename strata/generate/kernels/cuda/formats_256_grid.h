// Blocks of 256 weights whose codes choose rows of a grid, in the form of formats_256_k.h. The
// layouts are those of blocks/unpack_grids.cc.
//
// The grid is the type's table of blocks/block_tables.h as words, in memory that suits the caller:
// rows of 8 values are two words, rows of 4 are one.
#ifndef STRATA_GENERATE_KERNELS_CUDA_FORMATS_256_GRID_H_
#define STRATA_GENERATE_KERNELS_CUDA_FORMATS_256_GRID_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/formats_256_k.h"
#include "strata/generate/kernels/cuda/group_bytes.h"
#include "strata/generate/kernels/cuda/packed_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// Four values, which are not 0, negated where bits 0 to 3 of `signs` are set.
STRATA_NUMERIC uint32_t WithSigns(uint32_t values, uint32_t signs) {
  const uint32_t ones = packed::SpreadBits(signs);
  return (values ^ ones * 255u) + ones;
}

// The signs of 8 weights from a code of 7 bits: the number of negative ones is even.
STRATA_NUMERIC uint32_t SignsOf(uint32_t code) { return code | packed::IsOddPopulation(code) << 7; }

// Two words of 8 weights from a row of a grid.
STRATA_NUMERIC void PlaceRow(const uint32_t* row, uint32_t signs, uint32_t* words) {
  words[0] = WithSigns(row[0], signs);
  words[1] = WithSigns(row[1], signs >> 4);
}

// 4-bit scales t in half-steps: a factor is 2t + 1.
class NibbleFactors {
 public:
  STRATA_NUMERIC NibbleFactors(uint32_t low, uint32_t high) : words_{low, high} {}
  STRATA_NUMERIC int32_t Factor(int i) const {
    return static_cast<int32_t>(words_[i / 8] >> 4 * (i % 8) & 15u) * 2 + 1;
  }

 private:
  uint32_t words_[2];
};

template <int kWeights>
struct GridFormat {
  static constexpr int kFactorWeights = kWeights;
  static constexpr bool kHasMins = false;
  STRATA_NUMERIC int32_t Correction(const GroupVector& /*x*/) const { return 0; }
};

template <>
class Format256<BlockType::kIQ2_XXS> : public GridFormat<32> {
 public:
  static constexpr int kGridWords = 512;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* grid)
      : scale(f32::Mul(bytes.F16(0), 0.125f)), grid_(grid) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) {
    const uint32_t rows = bytes.At(2 + 8 * s);
    const uint32_t codes = bytes.At(2 + 8 * s + 4);
    factor_ = static_cast<int32_t>(codes >> 28) * 2 + 1;
    STRATA_UNROLL
    for (int k = 0; k < 4; ++k) {
      PlaceRow(grid_ + 2 * packed::Byte(rows, k), SignsOf(codes >> 7 * k & 127u), words + 2 * k);
    }
  }
  // Of the words asked for last.
  STRATA_NUMERIC int32_t Factor(int /*s*/) const { return factor_; }

  float scale;

 private:
  const uint32_t* grid_;
  int32_t factor_ = 0;
};

template <>
class Format256<BlockType::kIQ2_XS> : public GridFormat<16> {
 public:
  static constexpr int kGridWords = 1024;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* grid)
      : scale(f32::Mul(bytes.F16(0), 0.125f)), grid_(grid), factors_(bytes.At(66), bytes.At(70)) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    STRATA_UNROLL
    for (int k = 0; k < 4; ++k) {
      const uint32_t code = bytes.At(2 + 8 * s + k / 2 * 4) >> k % 2 * 16 & 0xffffu;
      PlaceRow(grid_ + 2 * (code & 511u), SignsOf(code >> 9), words + 2 * k);
    }
  }
  STRATA_NUMERIC int32_t Factor(int i) const { return factors_.Factor(i); }

  float scale;

 private:
  const uint32_t* grid_;
  NibbleFactors factors_;
};

template <>
class Format256<BlockType::kIQ2_S> : public GridFormat<16> {
 public:
  static constexpr int kGridWords = 2048;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* grid)
      : scale(f32::Mul(bytes.F16(0), 0.125f)), grid_(grid), factors_(bytes.At(74), bytes.At(78)) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    const uint32_t rows = bytes.At(2 + 4 * s);
    const uint32_t signs = bytes.At(34 + 4 * s);
    const uint32_t upper = bytes.At(66 + s / 4 * 4) >> 8 * (s % 4);
    STRATA_UNROLL
    for (int k = 0; k < 4; ++k) {
      const uint32_t row = static_cast<uint32_t>(packed::Byte(rows, k)) | (upper >> 2 * k & 3u)
                                                                              << 8;
      PlaceRow(grid_ + 2 * row, signs >> 8 * k, words + 2 * k);
    }
  }
  STRATA_NUMERIC int32_t Factor(int i) const { return factors_.Factor(i); }

  float scale;

 private:
  const uint32_t* grid_;
  NibbleFactors factors_;
};

template <>
class Format256<BlockType::kIQ3_XXS> : public GridFormat<32> {
 public:
  static constexpr int kGridWords = 256;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* grid)
      : scale(f32::Mul(bytes.F16(0), 0.25f)), grid_(grid) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) {
    const uint32_t codes = bytes.At(66 + 4 * s);
    factor_ = static_cast<int32_t>(codes >> 28) * 2 + 1;
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      const uint32_t rows = bytes.At(2 + 8 * s + j / 4 * 4);
      const uint32_t signs = SignsOf(codes >> 7 * (j / 2) & 127u) >> j % 2 * 4;
      words[j] = WithSigns(grid_[packed::Byte(rows, j % 4)], signs);
    }
  }
  // Of the words asked for last.
  STRATA_NUMERIC int32_t Factor(int /*s*/) const { return factor_; }

  float scale;

 private:
  const uint32_t* grid_;
  int32_t factor_ = 0;
};

template <>
class Format256<BlockType::kIQ3_S> : public GridFormat<32> {
 public:
  static constexpr int kGridWords = 512;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* grid)
      : scale(bytes.F16(0)), grid_(grid), factors_(bytes.At(106), 0) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    const uint32_t signs = bytes.At(74 + 4 * s);
    const uint32_t upper = bytes.Byte(66 + s);
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      const uint32_t rows = bytes.At(2 + 8 * s + j / 4 * 4);
      const uint32_t row = static_cast<uint32_t>(packed::Byte(rows, j % 4)) | (upper >> j & 1u)
                                                                                  << 8;
      words[j] = WithSigns(grid_[row], signs >> 4 * j);
    }
  }
  STRATA_NUMERIC int32_t Factor(int i) const { return factors_.Factor(i); }

  float scale;

 private:
  const uint32_t* grid_;
  NibbleFactors factors_;
};

// IQ1: values of -1, 0 and 1 moved up or down by an eighth, in eighths. All lie in -9..9.
STRATA_NUMERIC void PlaceTernaryRow(const uint32_t* row, bool down, uint32_t* words) {
  STRATA_UNROLL
  for (int i = 0; i < 2; ++i) {
    const uint32_t eight_times = row[i] << 3 & 0xf8f8f8f8u;  // Of each byte, sign and all.
    // Less 1 in each byte without a borrow; plus 1 sets a bit that is clear.
    const uint32_t less = ((eight_times ^ 0x80808080u) - 0x01010101u) ^ 0x80808080u;
    words[i] = down ? less : eight_times | 0x01010101u;
  }
}

template <>
class Format256<BlockType::kIQ1_S> : public GridFormat<32> {
 public:
  static constexpr int kGridWords = 4096;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* grid)
      : scale(f32::Mul(bytes.F16(0), 0.125f)), grid_(grid) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) {
    const uint32_t rows = bytes.At(2 + 4 * s);
    const uint32_t high = bytes.Half(34 + 2 * s);
    factor_ = static_cast<int32_t>(high >> 12 & 7u) * 2 + 1;
    STRATA_UNROLL
    for (int k = 0; k < 4; ++k) {
      const uint32_t row = static_cast<uint32_t>(packed::Byte(rows, k)) | (high >> 3 * k & 7u) << 8;
      PlaceTernaryRow(grid_ + 2 * row, high >> 15 != 0, words + 2 * k);
    }
  }
  // Of the words asked for last.
  STRATA_NUMERIC int32_t Factor(int /*s*/) const { return factor_; }

  float scale;

 private:
  const uint32_t* grid_;
  int32_t factor_ = 0;
};

template <>
class Format256<BlockType::kIQ1_M> : public GridFormat<16> {
 public:
  static constexpr int kGridWords = 4096;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* grid)
      : grid_(grid), scales_{bytes.Word(12), bytes.Word(13)} {
    const uint32_t d = (scales_[0] >> 12 & 0xfu) | (scales_[0] >> 28 << 4) |
                       (scales_[1] >> 12 & 0xfu) << 8 | (scales_[1] >> 28 << 12);
    scale = f32::Mul(f32::FromF16(static_cast<uint16_t>(d)), 0.125f);
  }

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    const uint32_t rows = bytes.At(4 * s);
    const uint32_t high = bytes.Half(32 + 2 * s);
    STRATA_UNROLL
    for (int k = 0; k < 4; ++k) {
      const uint32_t nibble = high >> 4 * k & 15u;
      const uint32_t row = static_cast<uint32_t>(packed::Byte(rows, k)) | (nibble & 7u) << 8;
      PlaceTernaryRow(grid_ + 2 * row, (nibble & 8u) != 0, words + 2 * k);
    }
  }
  STRATA_NUMERIC int32_t Factor(int i) const {
    const uint32_t word = scales_[i / 8] >> i / 4 % 2 * 16;
    return static_cast<int32_t>(word >> 3 * (i % 4) & 7u) * 2 + 1;
  }

  float scale = 0.0f;

 private:
  const uint32_t* grid_;
  uint32_t scales_[2];
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_FORMATS_256_GRID_H_
