// Rows of types with blocks of 256, four blocks at a time as they lie in memory: each is decoded into
// registers and met by each vector there; the lanes are then summed and the floats computed for the
// four together.
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/four_blocks.h"
#include "strata/generate/kernels/x86/grid_codes_avx512.h"
#include "strata/generate/kernels/x86/k_codes_avx512.h"
#include "strata/generate/kernels/x86/kernels_avx512.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/row_groups.h"
#include "strata/generate/kernels/x86/type_list.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx512 {
namespace {

// Rows that all vectors meet before the next come from memory.
constexpr int kRows = 16;

// Four blocks, multiplied with each vector: lanes not yet summed.
template <int kVectors>
struct BlockSums {
  __m512i integers[kVectors][4];
  __m256i mins[kVectors][4];
  uint32_t scales[4];      // ScaleBits.
  float das[kVectors][4];  // Scales of the vectors.
};

// Lane i: the sum of the lanes of blocks[i].
STRATA_AVX512 STRATA_INLINE __m128i SumLanes(const __m512i (&blocks)[4]) {
  const __m512i first = _mm512_add_epi32(_mm512_unpacklo_epi32(blocks[0], blocks[1]),
                                         _mm512_unpackhi_epi32(blocks[0], blocks[1]));
  const __m512i second = _mm512_add_epi32(_mm512_unpacklo_epi32(blocks[2], blocks[3]),
                                          _mm512_unpackhi_epi32(blocks[2], blocks[3]));
  const __m512i sums =
      _mm512_add_epi32(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
  const __m256i half =
      _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// What the codes give with 64k .. 64k + 63 of a vector, as the type has signs or not.
template <typename Type>
STRATA_AVX512 STRATA_INLINE __m512i Signed(const Codes256& codes, int k, const int8_t* q) {
  const __m512i a = Load512(q + 64 * k);
  if (!Type::kHasSigns) return a;
  return _mm512_mask_sub_epi8(a, codes.negative[k], _mm512_setzero_si512(), a);
}

// -kOffset times the activations, by lanes of the lower half; in the others 0.
template <typename Type>
STRATA_AVX512 STRATA_INLINE __m512i OffsetPart(const Codes256& codes, const int16_t* sums) {
  if (Type::kOffset == 0) return _mm512_setzero_si512();
  const __m256i factors = _mm256_mullo_epi16(codes.factors, _mm256_set1_epi16(-Type::kOffset));
  return _mm512_zextsi256_si512(_mm256_madd_epi16(factors, Load256(sums)));
}

// The integer I of a block and a vector, spread over lanes. `sums` are those of the vector.
template <typename Type>
STRATA_AVX512 STRATA_INLINE __m512i Integers(const Codes256& codes, const int8_t* q,
                                             const int16_t* sums) {
  __m512i sum = OffsetPart<Type>(codes, sums);
  if (Type::kFoursFit16Bits) {
    __m512i fours[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      fours[k] =
          _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes.codes[k], Signed<Type>(codes, k, q));
    }
    sum = _mm512_dpwssd_epi32(sum, PackFours(fours[0], fours[1]), codes.four_factors[0]);
    return _mm512_dpwssd_epi32(sum, PackFours(fours[2], fours[3]), codes.four_factors[1]);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    const __m512i pairs = _mm512_maddubs_epi16(codes.codes[k], Signed<Type>(codes, k, q));
    sum = _mm512_dpwssd_epi32(sum, pairs, codes.pair_factors[k]);
  }
  return sum;
}

template <typename Type, int kVectors>
STRATA_AVX512 STRATA_INLINE void MeetVectors(const uint8_t* block, int64_t index,
                                             const ActivationView* xs, int i,
                                             BlockSums<kVectors>& out) {
  Codes256 codes;
  Type::Decode(block, codes);
  out.scales[i] = ScaleBits<Type>(block);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const int16_t* sums = xs[v].sums + 16 * index;
    out.integers[v][i] = Integers<Type>(codes, xs[v].q + 256 * index, sums);
    if (Type::kHasMins) out.mins[v][i] = _mm256_madd_epi16(codes.mins, Load256(sums));
    out.das[v][i] = xs[v].scales[index];
  }
}

template <typename Type>
struct RowDots {
  template <int kVectors, bool kWholeFours>
  STRATA_AVX512 static void RunFours(const RowGroup<kRows>& group, const ActivationView* xs,
                                     float* const* ys) {
    typename BlockWalk<Type::kBlockBytes, kWholeFours>::Last last;
    BlockWalk<Type::kBlockBytes, kWholeFours> walk(group, last);
    RowChains<kVectors, kWholeFours> chains(group, ys);
    do {
      while (walk.StartFour()) {
        BlockSums<kVectors> sums;
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) MeetVectors<Type>(walk.block(i), walk.index(i), xs, i, sums);
        const ScalesOfFourBlocks scales = ToScales<Type>(sums.scales);
        __m128 groups[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          groups[v] = ToGroups<Type>(scales, sums.das[v], SumLanes(sums.integers[v]), sums.mins[v]);
        }
        chains.Add(groups);
      }
    } while (walk.FillUp());
  }

  template <int kVectors>
  static void DotsOf(const RowGroup<kRows>& group, const ActivationView* xs, float* const* ys) {
    if (group.columns / 256 % 4 == 0) {
      RunFours<kVectors, true>(group, xs, ys);
    } else {
      RunFours<kVectors, false>(group, xs, ys);
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
