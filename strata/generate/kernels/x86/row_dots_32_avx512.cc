// Rows of types that meet activations in blocks of 32, sixteen at a time: the chain of floats from
// block to block then runs in 16 lanes, one a row. Two blocks of a row fill a register.
#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/weight_matrix.h"
#include "strata/generate/kernels/x86/codes_32_avx512.h"
#include "strata/generate/kernels/x86/kernels_avx512.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"

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

template <typename Type, int kVectors>
class RowDots32 {
 public:
  // Rows [row, row + kRows), of which `count` exist.
  STRATA_AVX512 STRATA_INLINE RowDots32(const WeightMatrix& weights, int64_t row, int count,
                                        const ActivationView* xs)
      : xs_(xs) {
    const auto* first = reinterpret_cast<const uint8_t*>(weights.row(row));
    const int64_t row_bytes = weights.row_bytes();
    for (int i = 0; i < kRows; ++i) rows_[i] = first + std::min(i, count - 1) * row_bytes;
  }

  // Adds groups[v] of the blocks [begin, end), at most a group, to sums[v].
  STRATA_AVX512 STRATA_INLINE void AddGroup(int64_t begin, int64_t end, __m512 (&sums)[kVectors]) {
    __m512 groups[kVectors];
    for (int v = 0; v < kVectors; ++v) groups[v] = _mm512_setzero_ps();
    for (int64_t b = begin; b < end; b += 2) {
      const int64_t second = std::min(b + 1, end - 1);
      BlockPair integers[kVectors];
      Multiply(b, second, integers);
      Chain(b, integers, &BlockPair::first, groups);
      if (second != b) Chain(second, integers, &BlockPair::second, groups);
    }
    for (int v = 0; v < kVectors; ++v) sums[v] = _mm512_add_ps(sums[v], groups[v]);
  }

 private:
  // I of two blocks before the offset is taken off.
  STRATA_AVX512 STRATA_INLINE void Multiply(int64_t first, int64_t second,
                                            BlockPair (&integers)[kVectors]) {
    __m512i quads[kVectors][4];
    for (int quad = 0; quad < 4; ++quad) {
      __m512i products[kVectors][4];
      for (int i = 0; i < 4; ++i) {
        const __m512i codes = Type::Codes(rows_[4 * quad + i], first, second);
        for (int v = 0; v < kVectors; ++v) {
          // An odd last block meets what lies behind it as well, to no effect.
          const __m512i a = first != second
                                ? Load512(xs_[v].q + 32 * first)
                                : _mm512_castsi256_si512(Load256(xs_[v].q + 32 * first));
          products[v][i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes, a);
        }
      }
      for (int v = 0; v < kVectors; ++v) quads[v][quad] = SumQuads(products[v]);
    }
    for (int v = 0; v < kVectors; ++v) integers[v] = SumHalves(quads[v]);
  }

  STRATA_AVX512 STRATA_INLINE void Chain(int64_t block, const BlockPair (&integers)[kVectors],
                                         __m512i BlockPair::*part, __m512 (&groups)[kVectors]) {
    const __m512 scales = Type::Scales(rows_, block);
    for (int v = 0; v < kVectors; ++v) {
      const ActivationView& x = xs_[v];
      const __m512 da = _mm512_set1_ps(x.scales[block]);
      const __m512i offset = _mm512_set1_epi32(Type::kOffset * x.sums[block]);
      const __m512i integer = _mm512_sub_epi32(integers[v].*part, offset);
      groups[v] =
          _mm512_fmadd_ps(_mm512_mul_ps(scales, da), _mm512_cvtepi32_ps(integer), groups[v]);
      if constexpr (Type::kHasMins) {
        const __m512 min = _mm512_set1_ps(static_cast<float>(x.sums[block]));
        const __m512 min_scales = Type::MinScales(rows_, block);
        groups[v] = _mm512_fmadd_ps(_mm512_mul_ps(min_scales, da), min, groups[v]);
      }
    }
  }

  const uint8_t* rows_[kRows];
  const ActivationView* const xs_;
};

template <typename Type, int kVectors>
STRATA_AVX512 STRATA_INLINE void DotsOfRows(const WeightMatrix& weights, int64_t row, int count,
                                            const ActivationView* xs, float* const* ys) {
  RowDots32<Type, kVectors> dots(weights, row, count, xs);
  __m512 sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = _mm512_setzero_ps();
  const int64_t num_blocks = weights.columns / 32;
  for (int64_t b = 0; b < num_blocks; b += kBlocksPerGroup) {
    dots.AddGroup(b, std::min(b + kBlocksPerGroup, num_blocks), sums);
  }
  const auto present = static_cast<__mmask16>((1u << count) - 1);
  for (int v = 0; v < kVectors; ++v) _mm512_mask_storeu_ps(ys[v] + row, present, sums[v]);
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

}  // namespace strata::x86::avx512
