// Rows of types with blocks of 256, four at a time: the AVX2 side of row_dots_256_avx512.cc.
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/block_of_four_rows.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/grid_codes_avx2.h"
#include "strata/generate/kernels/x86/k_codes_avx2.h"
#include "strata/generate/kernels/x86/kernels_avx2.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/prefetch.h"
#include "strata/generate/kernels/x86/row_groups.h"
#include "strata/generate/kernels/x86/type_list.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx2 {
namespace {

constexpr int kRows = 4;

// One block of each row, multiplied with each vector: lanes not yet summed.
template <int kVectors>
struct BlockSums {
  __m256i integers[kVectors][kRows];
  __m256i mins[kVectors][kRows];
  uint32_t scales[kRows];  // ScaleBits.
};

// The integer I of a block and a vector, spread over lanes. `sums` are those of the vector.
template <typename Type>
STRATA_AVX2 STRATA_INLINE __m256i Integers(const Codes256& codes, const int8_t* q,
                                           const int16_t* sums) {
  __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    __m256i a = Load256(q + 32 * k);
    if (Type::kHasSigns) a = _mm256_sign_epi8(a, codes.signs[k]);
    const __m256i pairs = _mm256_maddubs_epi16(codes.codes[k], a);
    const __m256i factors = PairFactors<Type::kFactorWeights>(codes.factors, k);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, factors));
  }
  if (Type::kOffset == 0) return sum;
  const __m256i products = _mm256_madd_epi16(codes.factors, Load256(sums));
  return _mm256_sub_epi32(sum, _mm256_mullo_epi32(products, _mm256_set1_epi32(Type::kOffset)));
}

template <typename Type, int kVectors>
STRATA_AVX2 STRATA_INLINE void MeetVectors(const uint8_t* block, int64_t index,
                                           const ActivationView* xs, int row,
                                           BlockSums<kVectors>& out) {
  Codes256 codes;
  Type::Decode(block, codes);
  out.scales[row] = ScaleBits<Type>(block);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const int16_t* sums = xs[v].sums + 16 * index;
    out.integers[v][row] = Integers<Type>(codes, xs[v].q + 256 * index, sums);
    if (Type::kHasMins) out.mins[v][row] = _mm256_madd_epi16(codes.mins, Load256(sums));
  }
}

template <typename Type>
struct RowDots {
  template <int kVectors>
  STRATA_AVX2 static void DotsOf(const RowGroup<kRows>& group, const ActivationView* xs,
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

}  // namespace strata::x86::avx2
