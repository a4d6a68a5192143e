// Blocks of 32 weights as words of signed bytes, for types that meet A32. Block i of a group of
// eight; the layouts are those of blocks/unpack_codes.cc and unpack_values.cc.
//
// A weight is scale * (byte - kOffset) + min.
#ifndef STRATA_GENERATE_KERNELS_CUDA_FORMATS_32_H_
#define STRATA_GENERATE_KERNELS_CUDA_FORMATS_32_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/packed_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

struct Block32 {
  uint32_t word[8];
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

// 16 bytes from `byte` on, whose low nibbles are the codes of 16 weights and the high ones of the
// next 16.
template <typename Bytes>
STRATA_NUMERIC void SplitNibbles(const Bytes& bytes, int byte, uint32_t (&words)[8]) {
  STRATA_UNROLL
  for (int i = 0; i < 4; ++i) {
    const uint32_t codes = bytes.At(byte + 4 * i);
    words[i] = codes & 0x0f0f0f0fu;
    words[i + 4] = codes >> 4 & 0x0f0f0f0fu;
  }
}
template <typename Bytes>
STRATA_NUMERIC void LookUpNibbles(const Bytes& bytes, int byte, const ValueTable& table,
                                  uint32_t (&words)[8]) {
  STRATA_UNROLL
  for (int i = 0; i < 4; ++i) {
    const packed::TwoWords values = packed::LookUpNibbles(table.word, bytes.At(byte + 4 * i));
    words[i] = values.low;
    words[i + 4] = values.high;
  }
}

// A fifth bit for each of 32 codes.
STRATA_NUMERIC void AddFifthBits(uint32_t bits, uint32_t (&words)[8]) {
  STRATA_UNROLL
  for (int i = 0; i < 8; ++i) words[i] |= packed::SpreadBits(bits >> 4 * i) << 4;
}

template <BlockType kType>
struct Format32;

template <>
struct Format32<BlockType::kQ8_0> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    block.scale = bytes.F16(34 * i);
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) block.word[j] = bytes.At(34 * i + 2 + 4 * j);
  }
};

template <>
struct Format32<BlockType::kQ4_0> {
  static constexpr int kOffset = 8;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    block.scale = bytes.F16(18 * i);
    SplitNibbles(bytes, 18 * i + 2, block.word);
  }
};

template <>
struct Format32<BlockType::kQ4_1> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    block.scale = bytes.F16(20 * i);
    block.min = bytes.F16(20 * i + 2);
    SplitNibbles(bytes, 20 * i + 4, block.word);
  }
};

template <>
struct Format32<BlockType::kQ5_0> {
  static constexpr int kOffset = 16;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    block.scale = bytes.F16(22 * i);
    SplitNibbles(bytes, 22 * i + 6, block.word);
    AddFifthBits(bytes.At(22 * i + 2), block.word);
  }
};

template <>
struct Format32<BlockType::kQ5_1> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    block.scale = bytes.F16(24 * i);
    block.min = bytes.F16(24 * i + 2);
    SplitNibbles(bytes, 24 * i + 8, block.word);
    AddFifthBits(bytes.At(24 * i + 4), block.word);
  }
};

template <>
struct Format32<BlockType::kIQ4_NL> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    block.scale = bytes.F16(18 * i);
    LookUpNibbles(bytes, 18 * i + 2, Iq4nlValues(), block.word);
  }
};

template <>
struct Format32<BlockType::kMXFP4> {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    const uint32_t e = bytes.Byte(17 * i);  // 2^(e - 128), subnormal for 0 and 1.
    block.scale = f32::FromBits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    LookUpNibbles(bytes, 17 * i + 1, Mxfp4Values(), block.word);
  }
};

// 128 weights in 18 bytes: four blocks of 32 under one scale. A bit is -1 or 1.
template <>
struct Format32<BlockType::kQ1_0> {
  static constexpr int kOffset = 1;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    const uint32_t bits = bytes.At(i / 4 * 18 + 2 + i % 4 * 4);
    block.scale = bytes.F16(i / 4 * 18);
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) block.word[j] = packed::SpreadBits(bits >> 4 * j) << 1;
  }
};

// 64 weights in 18 bytes: two blocks of 32 under one scale.
template <>
struct Format32<BlockType::kQ2_0> {
  static constexpr int kOffset = 1;
  static constexpr bool kHasMin = false;
  template <typename Bytes>
  STRATA_NUMERIC static void Unpack(const Bytes& bytes, int i, Block32& block) {
    const int codes = i / 2 * 18 + 2 + i % 2 * 8;
    block.scale = bytes.F16(i / 2 * 18);
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) block.word[j] = packed::SpreadCrumbs(bytes.Byte(codes + j));
  }
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_FORMATS_32_H_
