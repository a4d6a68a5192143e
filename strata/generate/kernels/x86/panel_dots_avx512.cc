// Products of panels with many vectors.
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/codes_avx512.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/panel_avx512.h"
#include "strata/generate/kernels/x86/panel_product.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx512 {
namespace {

constexpr int kRows = Panel::kRows;
constexpr int kColumns = Panel::kColumns;

using Group = PanelGroup<Panel>;

// The activations of the group.
template <int kVectors>
struct GroupActivations {
  const uint8_t* q[kVectors];

  STRATA_INLINE GroupActivations(const Group& group, const ActivationView* xs) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      q[v] = reinterpret_cast<const uint8_t*>(xs[v].q + group.begin);
    }
  }
};

// accumulators[v] += the products of kWidth columns from `column` of the group with vector v.
template <int kWidth, int kVectors>
STRATA_AVX512 STRATA_INLINE void MultiplyColumns(const Panel& panel, int64_t column,
                                                 const GroupActivations<kVectors>& activations,
                                                 __m512i (&accumulators)[kVectors]) {
  const uint8_t* codes = panel.codes[0][0] + Panel::kRows * column;
#pragma GCC unroll 8
  for (int quad = 0; quad < kWidth / 4; ++quad) {
    const __m512i code = _mm512_load_si512(codes + 64 * quad);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const __m512i a = _mm512_set1_epi32(Load<int32_t>(activations.q[v] + column + 4 * quad));
      accumulators[v] = _mm512_dpbusd_epi32(accumulators[v], code, a);
    }
  }
}

// Codes are 128 too large: of each kWidth columns, what that adds to the product with x, negated.
template <int kWidth>
struct Corrections {
  alignas(64) int32_t values[kColumns / kWidth];
};

// From the sums of 16 that go with blocks of 256.
template <int kWidth>
STRATA_AVX512 STRATA_INLINE void Correct(const int16_t* sums, Corrections<kWidth>& out) {
  static_assert(kWidth == 16 || kWidth == 32);
  const __m256i sixteen = Load256(sums);
  if constexpr (kWidth == 16) {
    const __m512i shifted = _mm512_slli_epi32(_mm512_cvtepi16_epi32(sixteen), 7);
    _mm512_store_si512(out.values, _mm512_sub_epi32(_mm512_setzero_si512(), shifted));
  } else {
    const __m256i minus_128 = _mm256_set1_epi16(-128);
    _mm256_store_si256(reinterpret_cast<__m256i*>(out.values),
                       _mm256_madd_epi16(sixteen, minus_128));
  }
}

// Blocks of 256 with a factor for each kWidth columns. sums[v] += the group.
template <int kWidth, int kVectors>
STRATA_AVX512 void AddBlockOf256(const Group& group, const ActivationView* xs,
                                 float (*sums)[kRows]) {
  const int64_t block = group.begin / 256;
  const GroupActivations<kVectors> activations(group, xs);
  Corrections<kWidth> corrections[kVectors];
  __m512i totals[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    Correct<kWidth>(xs[v].sums + 16 * block, corrections[v]);
    totals[v] = _mm512_setzero_si512();
  }
  for (int j = 0; j < kColumns / kWidth; ++j) {
    __m512i products[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) products[v] = _mm512_set1_epi32(corrections[v].values[j]);
    MultiplyColumns<kWidth>(group.panel, kWidth * j, activations, products);
    const __m512i factors = _mm512_load_si512(group.panel.factors[kWidth / 16 * j]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      totals[v] = _mm512_add_epi32(totals[v], _mm512_mullo_epi32(products[v], factors));
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const __m512 da = _mm512_set1_ps(xs[v].scales[block]);
    __m512 result = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_load_ps(group.panel.scales[0]), da),
                                    _mm512_cvtepi32_ps(totals[v]), _mm512_setzero_ps());
    if (group.has_mins) {
      const auto* pairs = reinterpret_cast<const uint8_t*>(xs[v].sums + 16 * block);
      __m512i mins = _mm512_setzero_si512();
      for (int j = 0; j < 8; ++j) {
        mins = _mm512_dpwssd_epi32(mins, _mm512_load_si512(group.panel.mins[j]),
                                   _mm512_set1_epi32(Load<int32_t>(pairs + 4 * j)));
      }
      result = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_load_ps(group.panel.min_scales[0]), da),
                               _mm512_cvtepi32_ps(mins), result);
    }
    _mm512_store_ps(sums[v], _mm512_add_ps(_mm512_load_ps(sums[v]), result));
  }
}

// The sum of the kWidth activations from `column`, times -128.
template <int kWidth>
STRATA_INLINE int CorrectionOf(const ActivationView& x, int64_t column) {
  if (kWidth == 32) return -128 * x.sums[column / 32];
  int sum = 0;
  for (int i = 0; i < kWidth; ++i) sum += x.q[column + i];
  return -128 * sum;
}

// Blocks of kWidth = 32 or 16 columns that meet activations in blocks of 32.
template <int kWidth, int kVectors>
STRATA_AVX512 void AddBlocksOf32(const Group& group, const ActivationView* xs,
                                 float (*sums)[kRows]) {
  const GroupActivations<kVectors> activations(group, xs);
  __m512 results[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) results[v] = _mm512_setzero_ps();
  for (int column = 0; column < group.num_columns; column += kWidth) {
    const int64_t at = group.begin + column;
    __m512i products[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      products[v] = _mm512_set1_epi32(CorrectionOf<kWidth>(xs[v], at));
    }
    MultiplyColumns<kWidth>(group.panel, column, activations, products);
    const __m512 scales = _mm512_load_ps(group.panel.scales[column / kWidth]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const __m512 da = _mm512_set1_ps(xs[v].scales[at / 32]);
      results[v] =
          _mm512_fmadd_ps(_mm512_mul_ps(scales, da), _mm512_cvtepi32_ps(products[v]), results[v]);
      if (!group.has_mins) continue;
      const __m512 min = _mm512_set1_ps(static_cast<float>(xs[v].sums[at / 32]));
      const __m512 min_scales = _mm512_load_ps(group.panel.min_scales[column / kWidth]);
      results[v] = _mm512_fmadd_ps(_mm512_mul_ps(min_scales, da), min, results[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    _mm512_store_ps(sums[v], _mm512_add_ps(_mm512_load_ps(sums[v]), results[v]));
  }
}

// How the vectors are met, as many at a time as registers hold.
struct GroupKernels {
  using Kernel = void (*)(const Group& group, const ActivationView* xs, float (*sums)[kRows]);
  Kernel eight;
  Kernel four;
  Kernel two;
  Kernel one;
};

constexpr GroupKernels kBlockOf256By16 = {AddBlockOf256<16, 8>, AddBlockOf256<16, 4>,
                                          AddBlockOf256<16, 2>, AddBlockOf256<16, 1>};
constexpr GroupKernels kBlockOf256By32 = {AddBlockOf256<32, 8>, AddBlockOf256<32, 4>,
                                          AddBlockOf256<32, 2>, AddBlockOf256<32, 1>};
constexpr GroupKernels kBlocksOf32 = {AddBlocksOf32<32, 8>, AddBlocksOf32<32, 4>,
                                      AddBlocksOf32<32, 2>, AddBlocksOf32<32, 1>};
constexpr GroupKernels kBlocksOf16 = {AddBlocksOf32<16, 8>, AddBlocksOf32<16, 4>,
                                      AddBlocksOf32<16, 2>, AddBlocksOf32<16, 1>};

const GroupKernels& KernelsOf(const IntegerFormat& format) {
  if (format.integer_weights == 16) return kBlocksOf16;
  if (format.integer_weights == 32) return kBlocksOf32;
  return format.factor_weights == 16 ? kBlockOf256By16 : kBlockOf256By32;
}

// See panel_product.h.
struct PanelKernels {
  using Panel = avx512::Panel;

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
    for (; v + 8 <= n; v += 8) kernels.eight(group, &xs[v], sums + v);
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

}  // namespace strata::x86::avx512
