// Rows of types that meet activations in blocks of 32, eight at a time: the AVX2 side of
// row_dots_32_avx512.cc. A block of a row fills a register.
#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/codes_32_avx2.h"
#include "strata/generate/kernels/x86/kernels_avx2.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/kernels/x86/prefetch.h"
#include "strata/generate/kernels/x86/row_groups.h"
#include "strata/generate/kernels/x86/type_list.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx2 {
namespace {

constexpr int kRows = 8;
constexpr int64_t kBlocksPerGroup = 8;

// Lane i: the sum of the lanes of rows[i].
STRATA_AVX2 STRATA_INLINE __m256i SumLanes(const __m256i (&rows)[kRows]) {
  const __m256i rows_03 =
      _mm256_hadd_epi32(_mm256_hadd_epi32(rows[0], rows[1]), _mm256_hadd_epi32(rows[2], rows[3]));
  const __m256i rows_47 =
      _mm256_hadd_epi32(_mm256_hadd_epi32(rows[4], rows[5]), _mm256_hadd_epi32(rows[6], rows[7]));
  return _mm256_add_epi32(_mm256_permute2x128_si256(rows_03, rows_47, 0x20),
                          _mm256_permute2x128_si256(rows_03, rows_47, 0x31));
}

template <typename Type>
STRATA_AVX2 STRATA_INLINE __m256i Products(__m256i codes, __m256i a) {
  const __m256i pairs =
      Type::kHasSigns ? _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(a, codes))
                      : _mm256_maddubs_epi16(codes, a);
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

// I of one block of each row and a vector, before the offset is taken off; a lane is a row.
template <typename Type, int kVectors>
STRATA_AVX2 STRATA_INLINE void Multiply(const uint8_t* const (&rows)[kRows], int64_t block,
                                        const ActivationView* xs, __m256i (&integers)[kVectors]) {
  __m256i products[kVectors][kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    const __m256i codes = Type::Codes(rows[i], block);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      products[v][i] = Products<Type>(codes, Load256(xs[v].q + 32 * block));
    }
  }
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) integers[v] = SumLanes(products[v]);
}

// Goes on with the chains of floats.
template <typename Type, int kVectors>
STRATA_AVX2 STRATA_INLINE void Chain(const uint8_t* const (&rows)[kRows], int64_t block,
                                     const ActivationView* xs, const __m256i (&integers)[kVectors],
                                     __m256 (&groups)[kVectors]) {
  const __m256 scales = Type::Scales(rows, block);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const int sum = xs[v].sums[block];
    const __m256 da = _mm256_set1_ps(xs[v].scales[block]);
    const __m256i integer = _mm256_sub_epi32(integers[v], _mm256_set1_epi32(Type::kOffset * sum));
    groups[v] = _mm256_fmadd_ps(_mm256_mul_ps(scales, da), _mm256_cvtepi32_ps(integer), groups[v]);
    if constexpr (Type::kHasMins) {
      const __m256 min_scales = _mm256_mul_ps(Type::MinScales(rows, block), da);
      groups[v] = _mm256_fmadd_ps(min_scales, _mm256_set1_ps(static_cast<float>(sum)), groups[v]);
    }
  }
}

template <typename Type>
struct RowDots {
  template <int kVectors>
  STRATA_AVX2 static void DotsOf(const RowGroup<kRows>& group, const ActivationView* xs,
                                 float* const* ys) {
    __m256 sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = _mm256_setzero_ps();
    const int64_t num_blocks = group.columns / 32;
    const int64_t block_bytes = group.row_bytes / num_blocks;
    RowPrefetch<kRows> prefetch(group.rows, group.row_bytes);
    for (int64_t begin = 0; begin < num_blocks; begin += kBlocksPerGroup) {
      __m256 groups[kVectors];
      for (int v = 0; v < kVectors; ++v) groups[v] = _mm256_setzero_ps();
      const int64_t end = std::min(begin + kBlocksPerGroup, num_blocks);
      for (int64_t b = begin; b < end; ++b) {
        if (b % 2 == 0) prefetch.Advance(b * block_bytes);
        __m256i integers[kVectors];
        Multiply<Type>(group.rows, b, xs, integers);
        Chain<Type>(group.rows, b, xs, integers, groups);
      }
      for (int v = 0; v < kVectors; ++v) sums[v] = _mm256_add_ps(sums[v], groups[v]);
    }
    for (int v = 0; v < kVectors; ++v) {
      alignas(32) float results[kRows];
      _mm256_store_ps(results, sums[v]);
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

}  // namespace strata::x86::avx2
