// Products of panels with many vectors: the AVX2 side of panel_dots_avx512.cc.
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/codes_avx2.h"
#include "strata/generate/kernels/x86/kernels_avx2.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/panel_avx2.h"
#include "strata/generate/kernels/x86/panel_product.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx2 {
namespace {

constexpr int kRows = Panel::kRows;
constexpr int kColumns = Panel::kColumns;

using Group = PanelGroup<Panel>;

// Of the 16 rows.
struct Integers {
  __m256i low;
  __m256i high;
};
struct Floats {
  __m256 low;
  __m256 high;
};

STRATA_AVX2 STRATA_INLINE Floats LoadFloats(const float* at) {
  return {_mm256_load_ps(at), _mm256_load_ps(at + 8)};
}

// chain = fma(scales * da, values, chain)
STRATA_AVX2 STRATA_INLINE void Chain(const float* scales, __m256 da, const Floats& values,
                                     Floats& chain) {
  const Floats s = LoadFloats(scales);
  chain.low = _mm256_fmadd_ps(_mm256_mul_ps(s.low, da), values.low, chain.low);
  chain.high = _mm256_fmadd_ps(_mm256_mul_ps(s.high, da), values.high, chain.high);
}

STRATA_AVX2 STRATA_INLINE Floats ToFloats(const Integers& integers) {
  return {_mm256_cvtepi32_ps(integers.low), _mm256_cvtepi32_ps(integers.high)};
}

// sum += the products of a pair of columns with the two int16 at `a`.
STRATA_AVX2 STRATA_INLINE void AddPair(__m256i low, __m256i high, const int16_t* a, Integers& sum) {
  const __m256i pair = _mm256_set1_epi32(Load<int32_t>(reinterpret_cast<const uint8_t*>(a)));
  sum.low = _mm256_add_epi32(sum.low, _mm256_madd_epi16(low, pair));
  sum.high = _mm256_add_epi32(sum.high, _mm256_madd_epi16(high, pair));
}

// The activations of the group of each vector, 16 bits wide.
template <int kVectors>
struct GroupActivations {
  alignas(32) int16_t q[kVectors][kColumns];

  STRATA_AVX2 STRATA_INLINE GroupActivations(const Group& group, const ActivationView* xs) {
    for (int v = 0; v < kVectors; ++v) {
      for (int i = 0; i < group.num_columns; i += 16) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(q[v] + i),
                           _mm256_cvtepi8_epi16(Load128(xs[v].q + group.begin + i)));
      }
    }
  }
};

// The integers of kWidth columns from `column` of the group.
template <int kWidth, int kVectors>
STRATA_AVX2 STRATA_INLINE void MultiplyColumns(const Panel& panel, int column,
                                               const GroupActivations<kVectors>& activations,
                                               Integers (&sums)[kVectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sums[v] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
#pragma GCC unroll 4
  for (int i = column; i < column + kWidth; i += 2) {
    const __m256i low = Load256(panel.weights[i / 2][0]);
    const __m256i high = Load256(panel.weights[i / 2][8]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) AddPair(low, high, activations.q[v] + i, sums[v]);
  }
}

STRATA_AVX2 STRATA_INLINE void AddToSums(const Floats& group, float* sums) {
  _mm256_store_ps(sums, _mm256_add_ps(_mm256_load_ps(sums), group.low));
  _mm256_store_ps(sums + 8, _mm256_add_ps(_mm256_load_ps(sums + 8), group.high));
}

// Blocks of 256. sums[v] += the group.
template <int kVectors>
STRATA_AVX2 void AddBlockOf256(const Group& group, const ActivationView* xs, float (*sums)[kRows]) {
  const int64_t block = group.begin / kColumns;
  const GroupActivations<kVectors> activations(group, xs);
  Integers integers[kVectors];
  MultiplyColumns<kColumns>(group.panel, 0, activations, integers);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m256 da = _mm256_set1_ps(xs[v].scales[block]);
    Floats result = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    Chain(group.panel.scales[0], da, ToFloats(integers[v]), result);
    if (group.has_mins) {
      Integers mins = {_mm256_setzero_si256(), _mm256_setzero_si256()};
      for (int j = 0; j < 8; ++j) {
        AddPair(Load256(group.panel.mins[j][0]), Load256(group.panel.mins[j][8]),
                xs[v].sums + 16 * block + 2 * j, mins);
      }
      Chain(group.panel.min_scales[0], da, ToFloats(mins), result);
    }
    AddToSums(result, sums[v]);
  }
}

// Blocks of kWidth = 32 or 16 columns that meet activations in blocks of 32.
template <int kWidth, int kVectors>
STRATA_AVX2 void AddBlocksOf32(const Group& group, const ActivationView* xs, float (*sums)[kRows]) {
  const GroupActivations<kVectors> activations(group, xs);
  Floats results[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) results[v] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (int column = 0; column < group.num_columns; column += kWidth) {
    const int64_t block_of_32 = (group.begin + column) / 32;
    Integers integers[kVectors];
    MultiplyColumns<kWidth>(group.panel, column, activations, integers);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const __m256 da = _mm256_set1_ps(xs[v].scales[block_of_32]);
      Chain(group.panel.scales[column / kWidth], da, ToFloats(integers[v]), results[v]);
      if (!group.has_mins) continue;
      const __m256 min = _mm256_set1_ps(static_cast<float>(xs[v].sums[block_of_32]));
      Chain(group.panel.min_scales[column / kWidth], da, {min, min}, results[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) AddToSums(results[v], sums[v]);
}

// How the vectors are met, as many at a time as registers hold.
struct GroupKernels {
  using Kernel = void (*)(const Group& group, const ActivationView* xs, float (*sums)[kRows]);
  Kernel four;
  Kernel two;
  Kernel one;
};

constexpr GroupKernels kBlockOf256 = {AddBlockOf256<4>, AddBlockOf256<2>, AddBlockOf256<1>};
constexpr GroupKernels kBlocksOf32 = {AddBlocksOf32<32, 4>, AddBlocksOf32<32, 2>,
                                      AddBlocksOf32<32, 1>};
constexpr GroupKernels kBlocksOf16 = {AddBlocksOf32<16, 4>, AddBlocksOf32<16, 2>,
                                      AddBlocksOf32<16, 1>};

const GroupKernels& KernelsOf(const IntegerFormat& format) {
  if (format.integer_weights == 16) return kBlocksOf16;
  return format.integer_weights == 32 ? kBlocksOf32 : kBlockOf256;
}

// See panel_product.h.
struct PanelKernels {
  using Panel = avx2::Panel;

  static void Stage(BlockType type, const uint8_t* const (&rows)[kRows], int64_t begin,
                    int num_columns, Panel& panel) {
    StagePanel stage = FindStage256(type);
    if (stage == nullptr) stage = FindStage32(type);
    if (stage != nullptr) return stage(rows, begin, num_columns, panel);
    StageAny(type, rows, begin, num_columns, panel);
  }

  static void AddGroup(const IntegerFormat& format, const Group& group,
                       absl::Span<const ActivationView> xs, float (*sums)[kRows]) {
    const GroupKernels& kernels = KernelsOf(format);
    const size_t n = xs.size();
    size_t v = 0;
    for (; v + 4 <= n; v += 4) kernels.four(group, &xs[v], sums + v);
    for (; v + 2 <= n; v += 2) kernels.two(group, &xs[v], sums + v);
    if (v < n) kernels.one(group, &xs[v], sums + v);
  }
};

}  // namespace

void MultiplyPanels(const WeightMatrix& weights, RowRange rows, absl::Span<const ActivationView> xs,
                    absl::Span<float* const> ys) {
  MultiplyByPanels<PanelKernels>(weights, rows, xs, ys);
}

}  // namespace strata::x86::avx2
