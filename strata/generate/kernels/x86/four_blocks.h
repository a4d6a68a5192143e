// Four blocks of 256 weights next to each other in memory, of one row or of several: a lane is a
// block. Four fill 128 bits, so both instruction sets share this.
#ifndef STRATA_GENERATE_KERNELS_X86_FOUR_BLOCKS_H_
#define STRATA_GENERATE_KERNELS_X86_FOUR_BLOCKS_H_

#include <algorithm>
#include <cstdint>

#include "strata/generate/kernels/x86/prefetch.h"
#include "strata/generate/kernels/x86/row_groups.h"
#include "strata/generate/kernels/x86/target.h"

namespace strata::x86 {

// The blocks of a group of rows as they lie in memory, one row after the other, four at a time: the
// order that the machine's own prefetcher follows. kWholeFours says that no four lie in two rows.
template <int kBlockBytes, bool kWholeFours>
class BlockWalk {
 public:
  // Room for FillUp; no member, so that the others can be registers.
  using Last = uint8_t[4 * kBlockBytes];

  template <int kRows>
  STRATA_INLINE BlockWalk(const RowGroup<kRows>& group, Last& last)
      : last_(last),
        next_(group.rows[0]),
        blocks_of_row_(group.columns / 256),
        num_left_(group.count * blocks_of_row_) {}

  // Goes to the next four. False when fewer are left.
  STRATA_INLINE bool StartFour() {
    if (num_left_ < 4) return false;
    AskAhead<4 * kBlockBytes>(next_);
    block_ = next_;
    next_ += 4 * kBlockBytes;
    num_left_ -= 4;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      indices_[i] = kWholeFours ? next_index_ + i : next_index_;
      if (!kWholeFours) GoOn(1);
    }
    if (kWholeFours) GoOn(4);
    return true;
  }

  // After the last four: makes four of what is left, with zeros. False when nothing is.
  STRATA_INLINE bool FillUp() {
    if (num_left_ == 0) return false;
    std::fill_n(std::copy_n(next_, num_left_ * kBlockBytes, last_), (4 - num_left_) * kBlockBytes,
                uint8_t{0});
    next_ = last_;
    num_left_ = 4;
    return true;
  }

  const uint8_t* block(int i) const { return block_ + i * kBlockBytes; }
  // Of the block in its row, and so in the vectors.
  int64_t index(int i) const { return indices_[i]; }

 private:
  STRATA_INLINE void GoOn(int num_blocks) {
    next_index_ += num_blocks;
    if (next_index_ == blocks_of_row_) next_index_ = 0;
  }

  uint8_t* const last_;
  const uint8_t* next_;
  int64_t next_index_ = 0;
  const int64_t blocks_of_row_;
  int64_t num_left_;
  const uint8_t* block_ = nullptr;
  int64_t indices_[4] = {};
};

// The chains of floats over the blocks of each row.
template <int kVectors, bool kWholeFours>
class RowChains {
 public:
  template <int kRows>
  STRATA_INLINE RowChains(const RowGroup<kRows>& group, float* const* ys)
      : blocks_of_row_(group.columns / 256),
        num_left_(blocks_of_row_),
        row_(group.first),
        end_row_(group.first + group.count) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) ys_[v] = ys[v];
  }

  // groups[v]: what the next four blocks of the walk are for a vector. Zeros that stand for blocks
  // belong to rows that do not exist.
  STRATA_AVX2 STRATA_INLINE void Add(const __m128 (&groups)[kVectors]) {
    alignas(16) float values[kVectors][4];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) _mm_store_ps(values[v], groups[v]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums_[v] += values[v][i];
      if (!kWholeFours && --num_left_ == 0) EndRow();
    }
    if (kWholeFours && (num_left_ -= 4) == 0) EndRow();
  }

 private:
  STRATA_INLINE void EndRow() {
    num_left_ = blocks_of_row_;
    if (row_ == end_row_) return;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      ys_[v][row_] = sums_[v];
      sums_[v] = 0.0f;
    }
    ++row_;
  }

  const int64_t blocks_of_row_;
  int64_t num_left_;  // Blocks of this row.
  int64_t row_;
  const int64_t end_row_;
  float sums_[kVectors] = {};
  float* ys_[kVectors];
};

// Lane i: the sum of the lanes of blocks[i].
STRATA_AVX2 STRATA_INLINE __m128i SumLanes(const __m256i (&blocks)[4]) {
  const __m256i first = _mm256_add_epi32(_mm256_unpacklo_epi32(blocks[0], blocks[1]),
                                         _mm256_unpackhi_epi32(blocks[0], blocks[1]));
  const __m256i second = _mm256_add_epi32(_mm256_unpacklo_epi32(blocks[2], blocks[3]),
                                          _mm256_unpackhi_epi32(blocks[2], blocks[3]));
  const __m256i sums =
      _mm256_add_epi32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
  return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

struct ScalesOfFourBlocks {
  __m128 scales;
  __m128 min_scales;
};

// From the ScaleBits of the blocks.
template <typename Format>
STRATA_AVX2 STRATA_INLINE ScalesOfFourBlocks ToScales(const uint32_t (&bits)[4]) {
  const __m256 halves =
      _mm256_cvtph_ps(_mm_set_epi32(static_cast<int>(bits[3]), static_cast<int>(bits[2]),
                                    static_cast<int>(bits[1]), static_cast<int>(bits[0])));
  const __m128 low = _mm256_castps256_ps128(halves);
  const __m128 high = _mm256_extractf128_ps(halves, 1);
  return {_mm_mul_ps(_mm_shuffle_ps(low, high, 0x88), _mm_set1_ps(Format::kStep)),
          _mm_xor_ps(_mm_shuffle_ps(low, high, 0xdd), _mm_set1_ps(-0.0f))};
}

// The groups that the blocks are, from their integers I and, where the type has them, M. `das` are
// the scales of the vector.
template <typename Format>
STRATA_AVX2 STRATA_INLINE __m128 ToGroups(const ScalesOfFourBlocks& scales,
                                          const float (&das_of)[4], __m128i integers,
                                          const __m256i (&mins)[4]) {
  const __m128 das = _mm_setr_ps(das_of[0], das_of[1], das_of[2], das_of[3]);
  __m128 groups =
      _mm_fmadd_ps(_mm_mul_ps(scales.scales, das), _mm_cvtepi32_ps(integers), _mm_setzero_ps());
  if (Format::kHasMins) {
    groups =
        _mm_fmadd_ps(_mm_mul_ps(scales.min_scales, das), _mm_cvtepi32_ps(SumLanes(mins)), groups);
  }
  return groups;
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_FOUR_BLOCKS_H_
