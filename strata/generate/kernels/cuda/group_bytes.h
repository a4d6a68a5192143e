// The bytes of a group of 256 weights, read as words whose offsets are constants after unrolling,
// so that what is read twice is loaded once.
//
// On the device they lie in shared memory, where a word must be aligned, and blocks of most types
// are not: then neighbouring words are joined.
#ifndef STRATA_GENERATE_KERNELS_CUDA_GROUP_BYTES_H_
#define STRATA_GENERATE_KERNELS_CUDA_GROUP_BYTES_H_

#include <cstdint>
#include <cstring>

#include "strata/generate/kernels/cuda/packed_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// kAligned: groups begin at multiples of 16 bytes. Up to 7 bytes behind the last one that is asked
// for are read too.
template <bool kAligned>
class GroupBytes {
 public:
  // The group begins at memory + offset; memory is 16-byte aligned.
  STRATA_NUMERIC GroupBytes(const uint8_t* memory, uint32_t offset)
      : words_(memory + (offset & ~(kAligned ? 15u : 3u))), shift_(8 * (offset & 3u)) {}

  // Bytes 4k to 4k + 3.
  STRATA_NUMERIC uint32_t Word(int k) const {
    if constexpr (kAligned) {
      return packed::LoadWords4(words_ + 16 * (k / 4)).word[k % 4];
    } else {
      return packed::FunnelRight(packed::LoadWord(words_ + 4 * k),
                                 packed::LoadWord(words_ + 4 * k + 4), shift_);
    }
  }

  // Four bytes, two, or one.
  STRATA_NUMERIC uint32_t At(int byte) const {
    if (byte % 4 == 0) return Word(byte / 4);
    return packed::FunnelRight(Word(byte / 4), Word(byte / 4 + 1), 8 * (byte % 4));
  }
  STRATA_NUMERIC uint32_t Half(int byte) const {
    return (byte % 4 == 3 ? At(byte) : Word(byte / 4) >> 8 * (byte % 4)) & 0xffffu;
  }
  STRATA_NUMERIC uint32_t Byte(int byte) const { return Word(byte / 4) >> 8 * (byte % 4) & 255u; }
  STRATA_NUMERIC float F16(int byte) const {
    return f32::FromF16(static_cast<uint16_t>(Half(byte)));
  }

 private:
  const uint8_t* words_;
  uint32_t shift_;
};

// The activations of one vector that a group meets: 256 int8, or those of its blocks of 32. All
// begin at multiples of 16 bytes but the sums and scales of A32.
struct GroupVector {
  const uint8_t* q;
  const uint8_t* scales;
  const uint8_t* sums;

  // Words 4k to 4k + 3 of q.
  STRATA_NUMERIC packed::Words4 Q(int k) const { return packed::LoadWords4(q + 16 * k); }
  // Of A256: sums 8k to 8k + 7 of 16 values each.
  STRATA_NUMERIC packed::Words4 Sums(int k) const { return packed::LoadWords4(sums + 16 * k); }
  // Of A32: of block i.
  STRATA_NUMERIC int32_t Sum(int i) const {
    int16_t sum;
    std::memcpy(&sum, __builtin_assume_aligned(sums + 2 * i, 2), sizeof(sum));
    return sum;
  }
  STRATA_NUMERIC float Scale(int i) const {
    float scale;
    std::memcpy(&scale, __builtin_assume_aligned(scales + 4 * i, 4), sizeof(scale));
    return scale;
  }
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_GROUP_BYTES_H_
