// Numbers and short codes inside a quantized block. Nothing in a block is aligned, and all of it is
// little-endian, as the machines this runs on are.
#ifndef STRATA_GENERATE_BLOCKS_PACKED_BYTES_H_
#define STRATA_GENERATE_BLOCKS_PACKED_BYTES_H_

#include <cstdint>
#include <cstring>

#include "strata/generate/numerics/numerics.h"

namespace strata {

template <typename T>
inline T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

inline float LoadF16(const uint8_t* bytes) { return f32::FromF16(Load<uint16_t>(bytes)); }

// Code i of 4 bits where byte j holds codes 2j (low) and 2j + 1 (high).
inline int PairedNibble(const uint8_t* bytes, int i) { return bytes[i / 2] >> 4 * (i % 2) & 15; }

// Code i of 4 bits where byte j of n holds codes j (low) and j + n (high).
inline int SplitNibble(const uint8_t* bytes, int n, int i) {
  return i < n ? bytes[i] & 15 : bytes[i - n] >> 4;
}

// Code i of 2 bits where, in each run of 32 bytes, byte j holds codes j, j + 32, j + 64, j + 96
// of a run of 128.
inline int Crumb(const uint8_t* bytes, int i) {
  return bytes[i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
}

inline int Bit(const uint8_t* bytes, int i) { return bytes[i / 8] >> i % 8 & 1; }

}  // namespace strata

#endif  // STRATA_GENERATE_BLOCKS_PACKED_BYTES_H_
