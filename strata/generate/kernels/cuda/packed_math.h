// Integer operations on small numbers packed in words, as GPUs have them, for host and device. All
// are exact.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PACKED_MATH_H_
#define STRATA_GENERATE_KERNELS_CUDA_PACKED_MATH_H_

#include <cstdint>
#include <cstring>

#include "strata/generate/numerics/numerics.h"

// Loops whose indices must be constants on the device, so that arrays stay in registers.
#ifdef __CUDA_ARCH__
#define STRATA_UNROLL _Pragma("unroll")
#else
#define STRATA_UNROLL
#endif

namespace strata::packed {

struct alignas(16) Words4 {
  uint32_t word[4];
};

// From memory that is 16-byte aligned on the device.
STRATA_NUMERIC Words4 LoadWords4(const uint8_t* bytes) {
#ifdef __CUDA_ARCH__
  const uint4 words = *reinterpret_cast<const uint4*>(bytes);
  return {{words.x, words.y, words.z, words.w}};
#else
  Words4 words;
  std::memcpy(&words, bytes, sizeof(words));
  return words;
#endif
}

// Likewise, 4-byte aligned.
STRATA_NUMERIC uint32_t LoadWord(const uint8_t* bytes) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const uint32_t*>(bytes);
#else
  uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
#endif
}

STRATA_NUMERIC int32_t SignedByte(uint32_t word, int i) {
  return static_cast<int8_t>(word >> 8 * i);
}
STRATA_NUMERIC int32_t Byte(uint32_t word, int i) {
  return static_cast<int32_t>(word >> 8 * i & 255u);
}

// sum + the products of four pairs of signed bytes.
STRATA_NUMERIC int32_t Dp4a(uint32_t a, uint32_t b, int32_t sum) {
#ifdef __CUDA_ARCH__
  return __dp4a(static_cast<int32_t>(a), static_cast<int32_t>(b), sum);
#else
  for (int i = 0; i < 4; ++i) sum += SignedByte(a, i) * SignedByte(b, i);
  return sum;
#endif
}

// sum + the products of two signed halves with two signed bytes: the lower or the upper two.
STRATA_NUMERIC int32_t Dp2aLow(uint32_t halves, uint32_t bytes, int32_t sum) {
#ifdef __CUDA_ARCH__
  return __dp2a_lo(static_cast<int32_t>(halves), static_cast<int32_t>(bytes), sum);
#else
  for (int i = 0; i < 2; ++i) {
    sum += static_cast<int16_t>(halves >> 16 * i) * SignedByte(bytes, i);
  }
  return sum;
#endif
}
STRATA_NUMERIC int32_t Dp2aHigh(uint32_t halves, uint32_t bytes, int32_t sum) {
#ifdef __CUDA_ARCH__
  return __dp2a_hi(static_cast<int32_t>(halves), static_cast<int32_t>(bytes), sum);
#else
  return Dp2aLow(halves, bytes >> 16, sum);
#endif
}

// The lower word of (high, low) moved right by 0 to 31 bits.
STRATA_NUMERIC uint32_t FunnelRight(uint32_t low, uint32_t high, uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, bits);
#else
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<uint32_t>(both >> (bits & 31u));
#endif
}

// Four bytes of (b, a), chosen by the lower three bits of each nibble of the selector, whose fourth
// bits are 0.
STRATA_NUMERIC uint32_t BytePermute(uint32_t a, uint32_t b, uint32_t selector) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, selector);
#else
  const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<uint32_t>(both >> 8 * (selector >> 4 * i & 7u) & 255u) << 8 * i;
  }
  return result;
#endif
}

STRATA_NUMERIC uint32_t IsOddPopulation(uint32_t x) {
#ifdef __CUDA_ARCH__
  return __popc(x) & 1u;
#else
  return static_cast<uint32_t>(__builtin_parity(x));
#endif
}

// Bits 0 to 3 of x as four bytes of 0 or 1. No two partial products of the multiplication meet.
STRATA_NUMERIC uint32_t SpreadBits(uint32_t x) { return (x & 15u) * 0x00204081u & 0x01010101u; }

// The four codes of 2 bits in a byte as four bytes.
STRATA_NUMERIC uint32_t SpreadCrumbs(uint32_t x) {
  const uint32_t pairs = (x | x << 12) & 0x000f000fu;
  return (pairs | pairs << 6) & 0x03030303u;
}

// Bytes of the table, which has 16 in four words, by the nibbles of `codes`: those of the low
// nibbles, and those of the high ones.
struct TwoWords {
  uint32_t low, high;
};
STRATA_NUMERIC TwoWords LookUpNibbles(const uint32_t (&table)[4], uint32_t codes) {
  // Three bits choose in each half of the table, then the fourth between the halves.
  const uint32_t index = codes & 0x77777777u;
  const uint32_t half = (codes & 0x88888888u) >> 1 | 0x32103210u;
  const uint32_t first =
      BytePermute(BytePermute(table[0], table[1], index & 0xffffu),
                  BytePermute(table[2], table[3], index & 0xffffu), half & 0xffffu);
  const uint32_t second = BytePermute(BytePermute(table[0], table[1], index >> 16),
                                      BytePermute(table[2], table[3], index >> 16), half >> 16);
  return {BytePermute(first, second, 0x6420u), BytePermute(first, second, 0x7531u)};
}

}  // namespace strata::packed

#endif  // STRATA_GENERATE_KERNELS_CUDA_PACKED_MATH_H_
