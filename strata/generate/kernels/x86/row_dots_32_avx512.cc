// Rows of types that meet activations in blocks of 32, sixteen at a time: the chain of floats from
// block to block then runs in 16 lanes, one a row. Two blocks of a row fill a register.
#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/codes_32_avx512.h"
#include "strata/generate/kernels/x86/kernels_avx512.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/kernels/x86/prefetch.h"
#include "strata/generate/kernels/x86/row_groups.h"
#include "strata/generate/kernels/x86/type_list.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx512 {
namespace {

constexpr int kRows = 16;
constexpr int64_t kBlocksPerGroup = 8;

// Two blocks; a lane is a row.
struct BlockPair {
  __m512i first;
  __m512i second;
};

// Within 128 bits, lane i: the sum of the four lanes of rows[i].
STRATA_AVX512 STRATA_INLINE __m512i SumQuads(const __m512i (&rows)[4]) {
  const __m512i low = _mm512_add_epi32(_mm512_unpacklo_epi32(rows[0], rows[1]),
                                       _mm512_unpackhi_epi32(rows[0], rows[1]));
  const __m512i high = _mm512_add_epi32(_mm512_unpacklo_epi32(rows[2], rows[3]),
                                        _mm512_unpackhi_epi32(rows[2], rows[3]));
  return _mm512_add_epi32(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
}

// From the quads of rows 0 .. 3, 4 .. 7 and so on, of which two belong to each block.
STRATA_AVX512 STRATA_INLINE BlockPair SumHalves(const __m512i (&quads)[4]) {
  const __m512i low = _mm512_add_epi32(_mm512_shuffle_i32x4(quads[0], quads[1], 0x88),
                                       _mm512_shuffle_i32x4(quads[0], quads[1], 0xdd));
  const __m512i high = _mm512_add_epi32(_mm512_shuffle_i32x4(quads[2], quads[3], 0x88),
                                        _mm512_shuffle_i32x4(quads[2], quads[3], 0xdd));
  return {_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xdd)};
}

// I of two blocks of each row and each vector, before the offset is taken off. An odd last block is
// its own second, which meets nothing.
template <typename Type, int kVectors>
STRATA_AVX512 STRATA_INLINE void Multiply(const uint8_t* const (&rows)[kRows], int64_t first,
                                          int64_t second, const ActivationView* xs,
                                          BlockPair (&integers)[kVectors]) {
  const auto present = static_cast<__mmask16>(first != second ? 0xffff : 0x00ff);
  __m512i activations[kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    activations[v] = _mm512_maskz_loadu_epi32(present, xs[v].q + 32 * first);
  }
  __m512i quads[kVectors][4];
#pragma GCC unroll 4
  for (int quad = 0; quad < 4; ++quad) {
    __m512i products[kVectors][4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m512i codes = Type::Codes(rows[4 * quad + i], first, second);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        products[v][i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes, activations[v]);
      }
    }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) quads[v][quad] = SumQuads(products[v]);
  }
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) integers[v] = SumHalves(quads[v]);
}

// Goes on with the chains of floats: one block, the `part` of the pairs.
template <typename Type, int kVectors>
STRATA_AVX512 STRATA_INLINE void Chain(const uint8_t* const (&rows)[kRows], int64_t block,
                                       const ActivationView* xs,
                                       const BlockPair (&integers)[kVectors],
                                       __m512i BlockPair::*part, __m512 (&groups)[kVectors]) {
  const __m512 scales = Type::Scales(rows, block);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const int sum = xs[v].sums[block];
    const __m512 da = _mm512_set1_ps(xs[v].scales[block]);
    const __m512i integer =
        _mm512_sub_epi32(integers[v].*part, _mm512_set1_epi32(Type::kOffset * sum));
    groups[v] = _mm512_fmadd_ps(_mm512_mul_ps(scales, da), _mm512_cvtepi32_ps(integer), groups[v]);
    if constexpr (Type::kHasMins) {
      const __m512 min_scales = _mm512_mul_ps(Type::MinScales(rows, block), da);
      groups[v] = _mm512_fmadd_ps(min_scales, _mm512_set1_ps(static_cast<float>(sum)), groups[v]);
    }
  }
}

template <typename Type>
struct RowDots {
  template <int kVectors>
  STRATA_AVX512 static void DotsOf(const RowGroup<kRows>& group, const ActivationView* xs,
                                   float* const* ys) {
    __m512 sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = _mm512_setzero_ps();
    const int64_t num_blocks = group.columns / 32;
    const int64_t block_bytes = group.row_bytes / num_blocks;
    RowPrefetch<kRows> prefetch(group.rows, group.row_bytes);
    for (int64_t begin = 0; begin < num_blocks; begin += kBlocksPerGroup) {
      __m512 groups[kVectors];
      for (int v = 0; v < kVectors; ++v) groups[v] = _mm512_setzero_ps();
      const int64_t end = std::min(begin + kBlocksPerGroup, num_blocks);
      for (int64_t b = begin; b < end; b += 2) {
        const int64_t second = std::min(b + 1, end - 1);
        prefetch.Advance(b * block_bytes);
        BlockPair integers[kVectors];
        Multiply<Type>(group.rows, b, second, xs, integers);
        Chain<Type>(group.rows, b, xs, integers, &BlockPair::first, groups);
        if (second != b) {
          Chain<Type>(group.rows, second, xs, integers, &BlockPair::second, groups);
        }
      }
      for (int v = 0; v < kVectors; ++v) sums[v] = _mm512_add_ps(sums[v], groups[v]);
    }
    for (int v = 0; v < kVectors; ++v) {
      alignas(64) float results[kRows];
      _mm512_store_ps(results, sums[v]);
      group.Store(results, ys[v]);
    }
  }

  static void Run(const WeightMatrix& weights, RowRange rows, absl::Span<const ActivationView> xs,
                  absl::Span<float* const> ys) {
    RunRowGroups<kRows, RowDots>(weights, rows, xs, ys);
  }
};

}  // namespace

MatMulKernel FindRowKernel32(BlockType type) {
  return FindKernel<MatMulKernel, RowDots>(type, Types32());
}

}  // namespace strata::x86::avx512
