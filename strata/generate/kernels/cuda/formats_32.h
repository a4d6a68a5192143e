// Blocks of 32 weights as words of signed bytes, for types that meet A32. Block i of a group of
// eight; the layouts are those of blocks/unpack_codes.cc and unpack_values.cc.
//
// A weight is scale * (byte - kOffset) + min. Pair(i, t) is words t and t + 4 of a block's eight, t
// below 4.
#ifndef STRATA_GENERATE_KERNELS_CUDA_FORMATS_32_H_
#define STRATA_GENERATE_KERNELS_CUDA_FORMATS_32_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/packed_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

struct Scales32 {
  float scale;
  float min;
};

// Of IQ4_NL and IQ4_XS, and of MXFP4 and NVFP4 (doubled), as in blocks/block_tables.h.
struct ValueTable {
  uint32_t word[4];
};
STRATA_NUMERIC constexpr ValueTable Iq4nlValues() {
  return {{0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u}};
}
STRATA_NUMERIC constexpr ValueTable Mxfp4Values() {
  return {{0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu}};
}

// Low nibbles, and high ones.
STRATA_NUMERIC packed::TwoWords SplitNibbles(uint32_t codes) {
  return {codes & 0x0f0f0f0fu, codes >> 4 & 0x0f0f0f0fu};
}

// A fifth bit for words t and t + 4 of 32 codes.
STRATA_NUMERIC packed::TwoWords AddFifthBits(packed::TwoWords codes, uint32_t bits, int t) {
  return {codes.low | packed::SpreadBits(bits >> 4 * t) << 4,
          codes.high | packed::SpreadBits(bits >> (4 * t + 16)) << 4};
}

template <BlockType kType>
struct Format32;

template <>
struct Format32<BlockType::kQ8_0> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    return {bytes.F16(34 * i), 0.0f};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    return {bytes.At(34 * i + 2, t), bytes.At(34 * i + 2, t + 4)};
  }
};

template <>
struct Format32<BlockType::kQ4_0> {
  static constexpr int kOffset = 8;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    return {bytes.F16(18 * i), 0.0f};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    return SplitNibbles(bytes.At(18 * i + 2, t));
  }
};

template <>
struct Format32<BlockType::kQ4_1> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    return {bytes.F16(20 * i), bytes.F16(20 * i + 2)};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    return SplitNibbles(bytes.At(20 * i + 4, t));
  }
};

template <>
struct Format32<BlockType::kQ5_0> {
  static constexpr int kOffset = 16;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    return {bytes.F16(22 * i), 0.0f};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    return AddFifthBits(SplitNibbles(bytes.At(22 * i + 6, t)), bytes.At(22 * i + 2), t);
  }
};

template <>
struct Format32<BlockType::kQ5_1> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    return {bytes.F16(24 * i), bytes.F16(24 * i + 2)};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    return AddFifthBits(SplitNibbles(bytes.At(24 * i + 8, t)), bytes.At(24 * i + 4), t);
  }
};

template <>
struct Format32<BlockType::kIQ4_NL> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    return {bytes.F16(18 * i), 0.0f};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    return packed::LookUpNibbles(Iq4nlValues().word, bytes.At(18 * i + 2, t));
  }
};

template <>
struct Format32<BlockType::kMXFP4> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    const uint32_t e = bytes.Byte(17 * i);  // 2^(e - 128), subnormal for 0 and 1.
    return {f32::FromBits(e < 2 ? 0x00200000u << e : (e - 1) << 23), 0.0f};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    return packed::LookUpNibbles(Mxfp4Values().word, bytes.At(17 * i + 1, t));
  }
};

// 128 weights in 18 bytes: four blocks of 32 under one scale. A bit is -1 or 1.
template <>
struct Format32<BlockType::kQ1_0> {
  static constexpr int kOffset = 1;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    return {bytes.F16(i / 4 * 18), 0.0f};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    const uint32_t bits = bytes.At(i / 4 * 18 + 2 + i % 4 * 4);
    return {packed::SpreadBits(bits >> 4 * t) << 1, packed::SpreadBits(bits >> (4 * t + 16)) << 1};
  }
};

// 64 weights in 18 bytes: two blocks of 32 under one scale.
template <>
struct Format32<BlockType::kQ2_0> {
  static constexpr int kOffset = 1;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static Scales32 Scales(const Bytes& bytes, int i) {
    return {bytes.F16(i / 2 * 18), 0.0f};
  }
  template <typename Bytes>
  STRATA_NUMERIC static packed::TwoWords Pair(const Bytes& bytes, int i, int t) {
    const int codes = i / 2 * 18 + 2 + i % 2 * 8;
    return {packed::SpreadCrumbs(bytes.Byte(codes + t)),
            packed::SpreadCrumbs(bytes.Byte(codes + t + 4))};
  }
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_FORMATS_32_H_
