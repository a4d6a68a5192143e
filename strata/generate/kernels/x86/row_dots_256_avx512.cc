// Rows of types with blocks of 256, four at a time: each block is decoded into registers and met by
// each vector there; the lanes are then summed and the floats computed for the four rows together.
#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/weight_matrix.h"
#include "strata/generate/kernels/x86/grid_codes_avx512.h"
#include "strata/generate/kernels/x86/k_codes_avx512.h"
#include "strata/generate/kernels/x86/kernels_avx512.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/kernels/x86/prefetch.h"

namespace strata::x86::avx512 {
namespace {

constexpr int kRows = 4;

// One block of each row, multiplied with each vector: lanes not yet summed.
template <int kVectors>
struct BlockSums {
  __m512i integers[kVectors][kRows];
  __m256i mins[kVectors][kRows];
  uint32_t scales[kRows];  // f16 of the scale, that of the minimums above it.
};

// Lane i: the sum of the lanes of rows[i].
STRATA_AVX512 STRATA_INLINE __m128i SumLanes(const __m256i (&rows)[kRows]) {
  const __m256i first = _mm256_add_epi32(_mm256_unpacklo_epi32(rows[0], rows[1]),
                                         _mm256_unpackhi_epi32(rows[0], rows[1]));
  const __m256i second = _mm256_add_epi32(_mm256_unpacklo_epi32(rows[2], rows[3]),
                                          _mm256_unpackhi_epi32(rows[2], rows[3]));
  const __m256i sums =
      _mm256_add_epi32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
  return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

STRATA_AVX512 STRATA_INLINE __m128i SumLanes(const __m512i (&rows)[kRows]) {
  const __m512i first = _mm512_add_epi32(_mm512_unpacklo_epi32(rows[0], rows[1]),
                                         _mm512_unpackhi_epi32(rows[0], rows[1]));
  const __m512i second = _mm512_add_epi32(_mm512_unpacklo_epi32(rows[2], rows[3]),
                                          _mm512_unpackhi_epi32(rows[2], rows[3]));
  const __m512i sums =
      _mm512_add_epi32(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
  const __m256i half =
      _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// The integer I of a block and a vector, spread over lanes. `sums` are those of the vector.
template <typename Type>
STRATA_AVX512 STRATA_INLINE __m512i Integers(const Codes256& codes, const int8_t* q,
                                             const int16_t* sums) {
  __m512i sum = _mm512_setzero_si512();
  for (int k = 0; k < 4; ++k) {
    __m512i a = Load512(q + 64 * k);
    if (Type::kHasSigns) {
      a = _mm512_mask_sub_epi8(a, codes.negative[k], _mm512_setzero_si512(), a);
    }
    const __m512i pairs = _mm512_maddubs_epi16(codes.codes[k], a);
    sum = k == 0 ? _mm512_madd_epi16(pairs, codes.pair_factors[k])
                 : _mm512_dpwssd_epi32(sum, pairs, codes.pair_factors[k]);
  }
  if (Type::kOffset == 0) return sum;
  const __m256i products = _mm256_madd_epi16(codes.factors, Load256(sums));
  const __m256i offset = _mm256_mullo_epi32(products, _mm256_set1_epi32(Type::kOffset));
  return _mm512_sub_epi32(sum, _mm512_zextsi256_si512(offset));
}

template <typename Type, int kVectors>
STRATA_AVX512 STRATA_INLINE void MeetVectors(const uint8_t* block, int64_t index,
                                             const ActivationView* xs, int row,
                                             BlockSums<kVectors>& out) {
  Codes256 codes;
  Type::Decode(block, codes);
  out.scales[row] = codes.scale | (Type::kHasMins ? uint32_t{codes.min_scale} << 16 : 0);
  for (int v = 0; v < kVectors; ++v) {
    const int16_t* sums = xs[v].sums + 16 * index;
    out.integers[v][row] = Integers<Type>(codes, xs[v].q + 256 * index, sums);
    if (Type::kHasMins) out.mins[v][row] = _mm256_madd_epi16(codes.mins, Load256(sums));
  }
}

// sums[v] += the group of one block; a lane is a row.
template <typename Type, int kVectors>
STRATA_AVX512 STRATA_INLINE void AddGroups(const BlockSums<kVectors>& block, int64_t index,
                                           const ActivationView* xs, __m128 (&sums)[kVectors]) {
  const uint32_t(&bits)[kRows] = block.scales;
  const __m256 halves =
      _mm256_cvtph_ps(_mm_set_epi32(static_cast<int>(bits[3]), static_cast<int>(bits[2]),
                                    static_cast<int>(bits[1]), static_cast<int>(bits[0])));
  const __m128 low = _mm256_castps256_ps128(halves);
  const __m128 high = _mm256_extractf128_ps(halves, 1);
  const __m128 scales = _mm_mul_ps(_mm_shuffle_ps(low, high, 0x88), _mm_set1_ps(Type::kStep));
  const __m128 min_scales = _mm_xor_ps(_mm_shuffle_ps(low, high, 0xdd), _mm_set1_ps(-0.0f));
  for (int v = 0; v < kVectors; ++v) {
    const __m128 da = _mm_set1_ps(xs[v].scales[index]);
    const __m128 integers = _mm_cvtepi32_ps(SumLanes(block.integers[v]));
    __m128 group = _mm_fmadd_ps(_mm_mul_ps(scales, da), integers, _mm_setzero_ps());
    if (Type::kHasMins) {
      const __m128 mins = _mm_cvtepi32_ps(SumLanes(block.mins[v]));
      group = _mm_fmadd_ps(_mm_mul_ps(min_scales, da), mins, group);
    }
    sums[v] = _mm_add_ps(sums[v], group);
  }
}

// ys[v][row .. row + kRows), of which `count` exist.
template <typename Type, int kVectors>
STRATA_AVX512 STRATA_INLINE void DotsOfRows(const WeightMatrix& weights, int64_t row, int count,
                                            const ActivationView* xs, float* const* ys) {
  const auto* first = reinterpret_cast<const uint8_t*>(weights.row(row));
  const int64_t row_bytes = weights.row_bytes();
  const uint8_t* rows[kRows];
  for (int i = 0; i < kRows; ++i) rows[i] = first + std::min(i, count - 1) * row_bytes;
  __m128 sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = _mm_setzero_ps();
  const int64_t num_blocks = weights.columns / 256;
  GroupPrefetch prefetch(first, kRows * row_bytes);
  for (int64_t b = 0; b < num_blocks; ++b) {
    prefetch.Advance(kRows * Type::kBlockBytes);
    BlockSums<kVectors> block;
    for (int i = 0; i < kRows; ++i) {
      MeetVectors<Type>(rows[i] + b * Type::kBlockBytes, b, xs, i, block);
    }
    AddGroups<Type>(block, b, xs, sums);
  }
  const auto present = static_cast<__mmask8>((1 << count) - 1);
  for (int v = 0; v < kVectors; ++v) _mm_mask_storeu_ps(ys[v] + row, present, sums[v]);
}

template <typename Type>
STRATA_AVX512 void RowDots(const WeightMatrix& weights, RowRange rows,
                           absl::Span<const ActivationView> xs, absl::Span<float* const> ys) {
  for (int64_t r = rows.begin; r < rows.end; r += kRows) {
    const int count = static_cast<int>(std::min<int64_t>(kRows, rows.end - r));
    size_t v = 0;
    for (; v + 2 <= xs.size(); v += 2) DotsOfRows<Type, 2>(weights, r, count, &xs[v], &ys[v]);
    if (v < xs.size()) DotsOfRows<Type, 1>(weights, r, count, &xs[v], &ys[v]);
  }
}

}  // namespace

MatMulKernel FindRowKernel256(BlockType type) {
  switch (type) {
    case BlockType::kQ2_K:
      return RowDots<Q2_K>;
    case BlockType::kQ3_K:
      return RowDots<Q3_K>;
    case BlockType::kQ4_K:
      return RowDots<Q4_K>;
    case BlockType::kQ5_K:
      return RowDots<Q5_K>;
    case BlockType::kQ6_K:
      return RowDots<Q6_K>;
    case BlockType::kIQ4_XS:
      return RowDots<IQ4_XS>;
    case BlockType::kIQ2_XXS:
      return RowDots<IQ2_XXS>;
    case BlockType::kIQ2_XS:
      return RowDots<IQ2_XS>;
    case BlockType::kIQ2_S:
      return RowDots<IQ2_S>;
    case BlockType::kIQ3_XXS:
      return RowDots<IQ3_XXS>;
    case BlockType::kIQ3_S:
      return RowDots<IQ3_S>;
    default:
      return nullptr;
  }
}

}  // namespace strata::x86::avx512
