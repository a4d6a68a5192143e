// Blocks of 256 weights as words of signed bytes under factors, for K types, IQ4_XS and the ternary
// types, which meet A256. The layouts are those of blocks/unpack_k.cc and its neighbours.
//
// A format is made from a block's bytes. Words(s) are 32 weights, Factor(i) multiplies each 32 or
// 16 of them (kFactorWeights; 256: there are none), and the exact integers of the block are
// I = sum factors * (weights . q) + Correction(x) and M = Mins(x).
#ifndef STRATA_GENERATE_KERNELS_CUDA_FORMATS_256_K_H_
#define STRATA_GENERATE_KERNELS_CUDA_FORMATS_256_K_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/formats_32.h"
#include "strata/generate/kernels/cuda/group_bytes.h"
#include "strata/generate/kernels/cuda/packed_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

template <BlockType kType>
struct Format256;

// The sum over 16 sub-blocks of a signed byte times the sum of 16 activations.
STRATA_NUMERIC int32_t DotOfSums(const uint32_t (&bytes)[4], const GroupVector& x) {
  int32_t sum = 0;
  STRATA_UNROLL
  for (int k = 0; k < 2; ++k) {
    const packed::Words4 sums = x.Sums(k);
    sum = packed::Dp2aLow(sums.word[0], bytes[2 * k], sum);
    sum = packed::Dp2aHigh(sums.word[1], bytes[2 * k], sum);
    sum = packed::Dp2aLow(sums.word[2], bytes[2 * k + 1], sum);
    sum = packed::Dp2aHigh(sums.word[3], bytes[2 * k + 1], sum);
  }
  return sum;
}

// Codes of 2 bits of the 32 weights s: byte j of 32 from `byte` on holds those of weights j, j +
// 32, j + 64 and j + 96.
template <typename Bytes>
STRATA_NUMERIC uint32_t Crumbs(const Bytes& bytes, int byte, int s, int j) {
  return bytes.At(byte + s / 4 * 32 + 4 * j) >> 2 * (s % 4) & 0x03030303u;
}

// Q4_K and Q5_K: d and dmin, then 6-bit scales and minimums of each 32 weights in 12 bytes.
class SixBitScales {
 public:
  static constexpr int kFactorWeights = 32;
  static constexpr bool kHasMins = true;

  template <typename Bytes>
  STRATA_NUMERIC explicit SixBitScales(const Bytes& bytes)
      : scale(bytes.F16(0)), min_scale(-bytes.F16(2)) {
    const uint32_t a = bytes.Word(1), b = bytes.Word(2), c = bytes.Word(3);
    factors_[0] = a & 0x3f3f3f3fu;
    factors_[1] = (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u);
    mins_[0] = b & 0x3f3f3f3fu;
    mins_[1] = (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u);
  }

  STRATA_NUMERIC int32_t Factor(int s) const { return packed::Byte(factors_[s / 4], s % 4); }
  STRATA_NUMERIC int32_t Correction(const GroupVector& /*x*/) const { return 0; }
  STRATA_NUMERIC int32_t Mins(const GroupVector& x) const {
    int32_t sum = 0;
    STRATA_UNROLL
    for (int k = 0; k < 2; ++k) {
      const packed::Words4 sums = x.Sums(k);
      STRATA_UNROLL
      for (int i = 0; i < 4; ++i) {
        sum += packed::Byte(mins_[k], i) * packed::Dp2aLow(sums.word[i], 0x0101u, 0);
      }
    }
    return sum;
  }

  float scale, min_scale;

 private:
  uint32_t factors_[2], mins_[2];
};

template <>
class Format256<BlockType::kQ4_K> : public SixBitScales {
 public:
  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* /*grid*/) : SixBitScales(bytes) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      words[j] = bytes.Word(4 + s / 2 * 8 + j) >> s % 2 * 4 & 0x0f0f0f0fu;
    }
  }
};

template <>
class Format256<BlockType::kQ5_K> : public SixBitScales {
 public:
  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* /*grid*/) : SixBitScales(bytes) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      const uint32_t high = bytes.Word(4 + j);
      const uint32_t fifth = s < 4 ? high << (4 - s) : high >> (s - 4);
      words[j] =
          (bytes.Word(12 + s / 2 * 8 + j) >> s % 2 * 4 & 0x0f0f0f0fu) | (fifth & 0x10101010u);
    }
  }
};

template <>
class Format256<BlockType::kQ6_K> {
 public:
  static constexpr int kFactorWeights = 16;
  static constexpr bool kHasMins = false;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* /*grid*/) : scale(bytes.F16(208)) {
    STRATA_UNROLL
    for (int i = 0; i < 4; ++i) factors_[i] = bytes.Word(48 + i);
  }

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    const int quarter = s % 4;
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      const uint32_t low = bytes.Word(s / 4 * 16 + quarter % 2 * 8 + j) >> quarter / 2 * 4;
      const uint32_t high = bytes.Word(32 + s / 4 * 8 + j);
      const uint32_t moved = quarter < 2 ? high << (4 - 2 * quarter) : high >> (2 * quarter - 4);
      words[j] = (low & 0x0f0f0f0fu) | (moved & 0x30303030u);
    }
  }
  STRATA_NUMERIC int32_t Factor(int i) const { return packed::SignedByte(factors_[i / 4], i % 4); }
  // Codes count from -32.
  STRATA_NUMERIC int32_t Correction(const GroupVector& x) const {
    return -32 * DotOfSums(factors_, x);
  }

  float scale;

 private:
  uint32_t factors_[4];
};

template <>
class Format256<BlockType::kQ3_K> {
 public:
  static constexpr int kFactorWeights = 16;
  static constexpr bool kHasMins = false;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* /*grid*/) : scale(bytes.F16(108)) {
    const uint32_t upper = bytes.Word(26);
    STRATA_UNROLL
    for (int i = 0; i < 4; ++i) {
      const uint32_t lower = bytes.Word(24 + i % 2) >> i / 2 * 4 & 0x0f0f0f0fu;
      const uint32_t bits = lower | (upper >> 2 * i & 0x03030303u) << 4;
      factors_[i] = ((bits | 0x80808080u) - 0x20202020u) ^ 0x80808080u;  // Each byte less 32.
    }
  }

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      words[j] = Crumbs(bytes, 32, s, j) | (bytes.Word(j) >> s & 0x01010101u) << 2;
    }
  }
  STRATA_NUMERIC int32_t Factor(int i) const { return packed::SignedByte(factors_[i / 4], i % 4); }
  // Codes count from -4.
  STRATA_NUMERIC int32_t Correction(const GroupVector& x) const {
    return -4 * DotOfSums(factors_, x);
  }

  float scale;

 private:
  uint32_t factors_[4];
};

template <>
class Format256<BlockType::kQ2_K> {
 public:
  static constexpr int kFactorWeights = 16;
  static constexpr bool kHasMins = true;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* /*grid*/)
      : scale(bytes.F16(80)), min_scale(-bytes.F16(82)) {
    STRATA_UNROLL
    for (int i = 0; i < 4; ++i) {
      factors_[i] = bytes.Word(i) & 0x0f0f0f0fu;
      mins_[i] = bytes.Word(i) >> 4 & 0x0f0f0f0fu;
    }
  }

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) words[j] = Crumbs(bytes, 16, s, j);
  }
  STRATA_NUMERIC int32_t Factor(int i) const { return packed::Byte(factors_[i / 4], i % 4); }
  STRATA_NUMERIC int32_t Correction(const GroupVector& /*x*/) const { return 0; }
  STRATA_NUMERIC int32_t Mins(const GroupVector& x) const { return DotOfSums(mins_, x); }

  float scale, min_scale;

 private:
  uint32_t factors_[4], mins_[4];
};

template <>
class Format256<BlockType::kIQ4_XS> {
 public:
  static constexpr int kFactorWeights = 32;
  static constexpr bool kHasMins = false;

  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* /*grid*/)
      : scale(bytes.F16(0)), upper_(bytes.Word(0) >> 16), lower_(bytes.Word(1)) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    LookUpNibbles(bytes, 8 + 16 * s, Iq4nlValues(), words);
  }
  STRATA_NUMERIC int32_t Factor(int s) const {
    const uint32_t bits = (lower_ >> 4 * s & 15u) | (upper_ >> 2 * s & 3u) << 4;
    return static_cast<int32_t>(bits) - 32;
  }
  STRATA_NUMERIC int32_t Correction(const GroupVector& /*x*/) const { return 0; }

  float scale;

 private:
  uint32_t upper_, lower_;
};

// Codes of the ternary types count from -1.
class TernaryCodes {
 public:
  static constexpr int kFactorWeights = 256;
  static constexpr bool kHasMins = false;

  STRATA_NUMERIC explicit TernaryCodes(float block_scale) : scale(block_scale) {}
  STRATA_NUMERIC int32_t Factor(int /*s*/) const { return 1; }
  STRATA_NUMERIC int32_t Correction(const GroupVector& x) const {
    const uint32_t ones[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
    return -DotOfSums(ones, x);
  }

  float scale;
};

template <>
class Format256<BlockType::kTQ2_0> : public TernaryCodes {
 public:
  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* /*grid*/)
      : TernaryCodes(bytes.F16(64)) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) words[j] = Crumbs(bytes, 0, s, j);
  }
};

template <>
class Format256<BlockType::kTQ1_0> : public TernaryCodes {
 public:
  template <typename Bytes>
  STRATA_NUMERIC Format256(const Bytes& bytes, const uint32_t* /*grid*/)
      : TernaryCodes(bytes.F16(52)) {}

  template <typename Bytes>
  STRATA_NUMERIC void Words(const Bytes& bytes, int s, uint32_t (&words)[8]) const {
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      // 32 bytes give the digits of 160 weights, 16 those of 80 and 4 those of 16.
      const int weight = 32 * s + 4 * j;
      const int begin = weight < 160 ? 0 : weight < 240 ? 160 : 240;
      const int run = weight < 160 ? 32 : weight < 240 ? 16 : 4;
      const int byte = (weight < 160 ? 0 : weight < 240 ? 32 : 48) + (weight - begin) % run;
      words[j] = Digits(bytes.Word(byte / 4), (weight - begin) / run);
    }
  }

 private:
  // Digit n of four bytes that are fractions of 256 in base 3: two at a time, so that products
  // have room.
  STRATA_NUMERIC static uint32_t Digits(uint32_t fractions, int n) {
    const uint32_t power = n == 0 ? 1 : n == 1 ? 3 : n == 2 ? 9 : n == 3 ? 27 : 81;
    const uint32_t even = (fractions & 0x00ff00ffu) * power & 0x00ff00ffu;
    const uint32_t odd = (fractions >> 8 & 0x00ff00ffu) * power & 0x00ff00ffu;
    return (even * 3 >> 8 & 0x00030003u) | (odd * 3 & 0x03000300u);
  }
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_FORMATS_256_K_H_
