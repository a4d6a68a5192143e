// Rows of types with blocks of 256, four at a time: each block is decoded into registers and met by
// each vector there; the lanes are then summed and the floats computed for the four rows together.
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/block_of_four_rows.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/grid_codes_avx512.h"
#include "strata/generate/kernels/x86/k_codes_avx512.h"
#include "strata/generate/kernels/x86/kernels_avx512.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/prefetch.h"
#include "strata/generate/kernels/x86/row_groups.h"
#include "strata/generate/kernels/x86/type_list.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx512 {
namespace {

constexpr int kRows = 4;

// One block of each row, multiplied with each vector: lanes not yet summed.
template <int kVectors>
struct BlockSums {
  __m512i integers[kVectors][kRows];
  __m256i mins[kVectors][kRows];
  uint32_t scales[kRows];  // ScaleBits.
};

// Lane i: the sum of the lanes of rows[i].
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
  out.scales[row] = ScaleBits<Type>(block);
  for (int v = 0; v < kVectors; ++v) {
    const int16_t* sums = xs[v].sums + 16 * index;
    out.integers[v][row] = Integers<Type>(codes, xs[v].q + 256 * index, sums);
    if (Type::kHasMins) out.mins[v][row] = _mm256_madd_epi16(codes.mins, Load256(sums));
  }
}

template <typename Type>
struct RowDots {
  template <int kVectors>
  STRATA_AVX512 static void DotsOf(const RowGroup<kRows>& group, const ActivationView* xs,
                                   float* const* ys) {
    __m128 sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = _mm_setzero_ps();
    GroupPrefetch prefetch(group.rows[0], group.bytes());
    const int64_t num_blocks = group.columns / 256;
    for (int64_t b = 0; b < num_blocks; ++b) {
      prefetch.Advance<Type::kPrefetchesInTwoSteps>(kRows * Type::kBlockBytes);
      BlockSums<kVectors> block;
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        MeetVectors<Type>(group.rows[i] + b * Type::kBlockBytes, b, xs, i, block);
      }
      const ScalesOfFourRows scales = ToScales<Type>(block.scales);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        sums[v] = AddBlock<Type>(scales, xs[v].scales[b], SumLanes(block.integers[v]),
                                 block.mins[v], sums[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      alignas(16) float results[kRows];
      _mm_store_ps(results, sums[v]);
      group.Store(results, ys[v]);
    }
  }

  static void Run(const WeightMatrix& weights, RowRange rows, absl::Span<const ActivationView> xs,
                  absl::Span<float* const> ys) {
    RunRowGroups<kRows, RowDots>(weights, rows, xs, ys);
  }
};

}  // namespace

MatMulKernel FindRowKernel256(BlockType type) {
  const auto kernel = FindKernel<MatMulKernel, RowDots>(type, KTypes());
  return kernel != nullptr ? kernel : FindKernel<MatMulKernel, RowDots>(type, GridTypes());
}

}  // namespace strata::x86::avx512
