// Keys and values of a page of the KV cache in device memory.
//
// A page holds kKvPagePositions positions of one sequence for every layer. Within a page each layer
// has, from its offset on, for each head: the keys by position, then the values. A row of f32 or
// f16 is its values. Rows of int8 come first without their scales, then the scales of all rows: 32
// neighbouring values, the last block perhaps fewer, share one. So a head's keys of a page are one
// run of whole 16-byte words, whose rows can be read by words of 8 bytes.
//
// The numbers are those of the CPU's cache: f16 to nearest even, int8 as A32 activations.
#ifndef STRATA_GENERATE_KERNELS_CUDA_KV_PAGE_H_
#define STRATA_GENERATE_KERNELS_CUDA_KV_PAGE_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr int kKvPagePositions = 64;
inline constexpr int kKvScaleBlock = 32;

enum class KvFormat { kF32, kF16, kInt8 };

STRATA_NUMERIC int KvScalesOf(int size) { return (size + kKvScaleBlock - 1) / kKvScaleBlock; }

// Of kKvPagePositions rows of `size` values, a multiple of 8.
STRATA_NUMERIC int64_t KvRunBytes(KvFormat format, int size) {
  switch (format) {
    case KvFormat::kF32:
      return int64_t{kKvPagePositions} * 4 * size;
    case KvFormat::kF16:
      return int64_t{kKvPagePositions} * 2 * size;
    case KvFormat::kInt8:
      return int64_t{kKvPagePositions} * (size + 4 * KvScalesOf(size));
  }
  return 0;
}

// A layer within a page.
struct KvLayer {
  KvFormat format = KvFormat::kF16;
  int num_heads = 0;
  int key_size = 0;  // Of a head; multiples of 8, at most 512.
  int value_size = 0;
  int64_t offset = 0;  // Bytes from the beginning of a page; a multiple of 256.

  // Bytes from the beginning of a page to the keys, and to the values, of a head.
  STRATA_NUMERIC int64_t keys_offset(int head) const {
    return offset + head * (KvRunBytes(format, key_size) + KvRunBytes(format, value_size));
  }
  STRATA_NUMERIC int64_t values_offset(int head) const {
    return keys_offset(head) + KvRunBytes(format, key_size);
  }
  // Of all heads. The next layer begins at offset + bytes(), rounded up to 256.
  STRATA_NUMERIC int64_t bytes() const { return keys_offset(num_heads) - offset; }
};

// Value i of the row at `position` of a page (0 .. 63), where `run` is that of its keys or values.
STRATA_NUMERIC float LoadKvValue(KvFormat format, const std::byte* run, int size, int position,
                                 int i) {
  switch (format) {
    case KvFormat::kF32:
      return reinterpret_cast<const float*>(run)[position * size + i];
    case KvFormat::kF16:
      return f32::FromF16(reinterpret_cast<const uint16_t*>(run)[position * size + i]);
    case KvFormat::kInt8: {
      const auto* q = reinterpret_cast<const int8_t*>(run);
      const auto* scales = reinterpret_cast<const float*>(run + kKvPagePositions * size);
      return f32::Mul(scales[position * KvScalesOf(size) + i / kKvScaleBlock],
                      f32::FromInt(q[position * size + i]));
    }
  }
  return 0.0f;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_KV_PAGE_H_
