// Panels of types with blocks of 256.
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/grid_codes_avx512.h"
#include "strata/generate/kernels/x86/k_codes_avx512.h"
#include "strata/generate/kernels/x86/panel_avx512.h"
#include "strata/generate/kernels/x86/panel_rows_avx512.h"
#include "strata/generate/kernels/x86/type_list.h"

namespace strata::x86::avx512 {
namespace {

constexpr int kRows = Panel::kRows;

// Decodes a block into row `row`.
template <typename Type>
STRATA_AVX512 STRATA_INLINE void StageRow(const Codes256& codes, int row, PanelRows& out) {
  for (int k = 0; k < 4; ++k) {
    __m512i weights = codes.codes[k];
    if (Type::kHasSigns) {
      weights = _mm512_mask_sub_epi8(weights, codes.negative[k], _mm512_setzero_si512(), weights);
    }
    weights = _mm512_add_epi8(weights, _mm512_set1_epi8(static_cast<char>(128 - Type::kOffset)));
    _mm512_store_si512(out.codes[row] + 64 * k, weights);
  }
  _mm256_store_si256(reinterpret_cast<__m256i*>(out.factors[row]), codes.factors);
  if (Type::kHasMins) _mm256_store_si256(reinterpret_cast<__m256i*>(out.mins[row]), codes.mins);
}

template <typename Type>
struct Stage {
  STRATA_AVX512 static void Run(const uint8_t* const (&rows)[kRows], int64_t begin,
                                int /*num_columns*/, Panel& panel) {
    PanelRows staged;
    alignas(32) uint16_t scales[kRows];
    alignas(32) uint16_t min_scales[kRows];
    for (int row = 0; row < kRows; ++row) {
      Codes256 codes;
      const uint8_t* block = rows[row] + begin / 256 * Type::kBlockBytes;
      Type::Decode(block, codes);
      StageRow<Type>(codes, row, staged);
      const uint32_t bits = ScaleBits<Type>(block);
      scales[row] = static_cast<uint16_t>(bits);
      min_scales[row] = static_cast<uint16_t>(bits >> 16);
    }
    TransposeCodes(staged, panel);
    TransposeFactors(staged, panel);
    const __m512 step = _mm512_set1_ps(Type::kStep);
    _mm512_store_ps(panel.scales[0], _mm512_mul_ps(_mm512_cvtph_ps(Load256(scales)), step));
    if (!Type::kHasMins) return;
    TransposeMins(staged, panel);
    const __m512 minus_zero = _mm512_set1_ps(-0.0f);
    _mm512_store_ps(panel.min_scales[0],
                    _mm512_xor_ps(_mm512_cvtph_ps(Load256(min_scales)), minus_zero));
  }
};

}  // namespace

StagePanel FindStage256(BlockType type) {
  const auto stage = FindKernel<StagePanel, Stage>(type, KTypes());
  return stage != nullptr ? stage : FindKernel<StagePanel, Stage>(type, GridTypes());
}

}  // namespace strata::x86::avx512
