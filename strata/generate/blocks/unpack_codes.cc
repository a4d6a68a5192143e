#include <cstdint>

#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/blocks/unpackers.h"

namespace strata {
namespace {

// 32 codes of 4 bits from 16 bytes: the low nibbles, then the high ones.
void UnpackNibbles(const uint8_t* codes, int8_t* weights) {
  for (int j = 0; j < 16; ++j) {
    weights[j] = static_cast<int8_t>(codes[j] & 15);
    weights[j + 16] = static_cast<int8_t>(codes[j] >> 4);
  }
}

void AddToAll(int addend, int n, int8_t* weights) {
  for (int j = 0; j < n; ++j) weights[j] = static_cast<int8_t>(weights[j] + addend);
}

void AddFifthBits(const uint8_t* high, int8_t* weights) {
  const uint32_t bits = Load<uint32_t>(high);
  for (int j = 0; j < 32; ++j) weights[j] = static_cast<int8_t>(weights[j] | (bits >> j & 1) << 4);
}

void UnpackBytes(const uint8_t* codes, int n, int8_t* weights) {
  for (int j = 0; j < n; ++j) weights[j] = static_cast<int8_t>(codes[j]);
}

// The minimum of a block of 32 is a float of its own: it multiplies the sum of the activations.
void SetMin(float min, IntegerBlock& out) {
  out.min_scale = min;
  out.mins[0] = 1;
}

}  // namespace

// f16 d | 16 bytes
void UnpackQ4_0(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block);
  UnpackNibbles(block + 2, out.weights);
  AddToAll(-8, 32, out.weights);
}

// f16 d | f16 m | 16 bytes
void UnpackQ4_1(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block);
  SetMin(LoadF16(block + 2), out);
  UnpackNibbles(block + 4, out.weights);
}

// f16 d | 32 fifth bits | 16 bytes
void UnpackQ5_0(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block);
  UnpackNibbles(block + 6, out.weights);
  AddFifthBits(block + 2, out.weights);
  AddToAll(-16, 32, out.weights);
}

// f16 d | f16 m | 32 fifth bits | 16 bytes
void UnpackQ5_1(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block);
  SetMin(LoadF16(block + 2), out);
  UnpackNibbles(block + 8, out.weights);
  AddFifthBits(block + 4, out.weights);
}

// f16 d | 32 int8
void UnpackQ8_0(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block);
  UnpackBytes(block + 2, 32, out.weights);
}

// f16 d | f16 sum | 32 int8
void UnpackQ8_1(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block);
  UnpackBytes(block + 4, 32, out.weights);
}

// f32 d | 256 int8 | 16 sums
void UnpackQ8_K(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = Load<float>(block);
  SetFactors(1, 0, 16, out);
  UnpackBytes(block + 4, 256, out.weights);
}

// f16 d | 128 bits
void UnpackQ1_0(const uint8_t* block, int part, IntegerBlock& out) {
  out.scale = LoadF16(block);
  for (int j = 0; j < 32; ++j) out.weights[j] = Bit(block + 2 + 4 * part, j) != 0 ? 1 : -1;
}

// f16 d | 64 codes of 2 bits in order
void UnpackQ2_0(const uint8_t* block, int part, IntegerBlock& out) {
  const uint8_t* codes = block + 2 + 8 * part;
  out.scale = LoadF16(block);
  for (int j = 0; j < 32; ++j) {
    out.weights[j] = static_cast<int8_t>((codes[j / 4] >> 2 * (j % 4) & 3) - 1);
  }
}

// 52 bytes of base-3 digits | f16 d. A byte is a fraction of 256: times 3^n, what is left of it
// times 3 shows digit n above the point. A run of bytes gives the first digits of all its bytes,
// then the second ones, and so on.
void UnpackTQ1_0(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  struct Run {
    int first_byte, num_bytes, num_digits;
  };
  static constexpr Run kRuns[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  out.scale = LoadF16(block + 52);
  SetFactors(1, 0, 16, out);
  int8_t* weight = out.weights;
  for (const Run& run : kRuns) {
    int power = 1;
    for (int n = 0; n < run.num_digits; ++n, power *= 3) {
      for (int j = 0; j < run.num_bytes; ++j) {
        const int fraction = block[run.first_byte + j] * power & 255;
        *weight++ = static_cast<int8_t>((fraction * 3 >> 8) - 1);
      }
    }
  }
}

// 64 bytes of crumbs | f16 d
void UnpackTQ2_0(const uint8_t* block, int /*part*/, IntegerBlock& out) {
  out.scale = LoadF16(block + 64);
  SetFactors(1, 0, 16, out);
  for (int i = 0; i < 256; ++i) out.weights[i] = static_cast<int8_t>(Crumb(block, i) - 1);
}

}  // namespace strata
