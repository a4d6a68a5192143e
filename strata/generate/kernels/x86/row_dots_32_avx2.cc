// Rows of types that meet activations in blocks of 32, eight at a time: the AVX2 side of
// row_dots_32_avx512.cc. A block of a row fills a register.
#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/weight_matrix.h"
#include "strata/generate/kernels/x86/codes_32_avx2.h"
#include "strata/generate/kernels/x86/kernels_avx2.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"

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

// ys[v][row .. row + kRows), of which `count` exist.
template <typename Type, int kVectors>
STRATA_AVX2 STRATA_INLINE void DotsOfRows(const WeightMatrix& weights, int64_t row, int count,
                                          const ActivationView* xs, float* const* ys) {
  const auto* first = reinterpret_cast<const uint8_t*>(weights.row(row));
  const int64_t row_bytes = weights.row_bytes();
  const uint8_t* rows[kRows];
  for (int i = 0; i < kRows; ++i) rows[i] = first + std::min(i, count - 1) * row_bytes;
  __m256 sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = _mm256_setzero_ps();
  const int64_t num_blocks = weights.columns / 32;
  for (int64_t begin = 0; begin < num_blocks; begin += kBlocksPerGroup) {
    __m256 groups[kVectors];
    for (int v = 0; v < kVectors; ++v) groups[v] = _mm256_setzero_ps();
    const int64_t end = std::min(begin + kBlocksPerGroup, num_blocks);
    for (int64_t b = begin; b < end; ++b) {
      __m256i integers[kVectors];
      Multiply<Type>(rows, b, xs, integers);
      Chain<Type>(rows, b, xs, integers, groups);
    }
    for (int v = 0; v < kVectors; ++v) sums[v] = _mm256_add_ps(sums[v], groups[v]);
  }
  for (int v = 0; v < kVectors; ++v) {
    alignas(32) float results[kRows];
    _mm256_store_ps(results, sums[v]);
    std::copy_n(results, count, ys[v] + row);
  }
}

template <typename Type>
STRATA_AVX2 void RowDots(const WeightMatrix& weights, RowRange rows,
                         absl::Span<const ActivationView> xs, absl::Span<float* const> ys) {
  for (int64_t r = rows.begin; r < rows.end; r += kRows) {
    const int count = static_cast<int>(std::min<int64_t>(kRows, rows.end - r));
    size_t v = 0;
    for (; v + 2 <= xs.size(); v += 2) DotsOfRows<Type, 2>(weights, r, count, &xs[v], &ys[v]);
    if (v < xs.size()) DotsOfRows<Type, 1>(weights, r, count, &xs[v], &ys[v]);
  }
}

}  // namespace

MatMulKernel FindRowKernel32(BlockType type) {
  switch (type) {
    case BlockType::kQ4_0:
      return RowDots<Q4_0>;
    case BlockType::kQ4_1:
      return RowDots<Q4_1>;
    case BlockType::kQ5_0:
      return RowDots<Q5_0>;
    case BlockType::kQ5_1:
      return RowDots<Q5_1>;
    case BlockType::kQ8_0:
      return RowDots<Q8_0>;
    case BlockType::kIQ4_NL:
      return RowDots<IQ4_NL>;
    case BlockType::kMXFP4:
      return RowDots<MXFP4>;
    case BlockType::kQ2_0:
      return RowDots<Q2_0>;
    case BlockType::kQ1_0:
      return RowDots<Q1_0>;
    default:
      return nullptr;
  }
}

}  // namespace strata::x86::avx2
