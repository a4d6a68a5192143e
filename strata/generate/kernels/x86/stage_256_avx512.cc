// Panels of types with blocks of 256.
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/x86/grid_codes_avx512.h"
#include "strata/generate/kernels/x86/k_codes_avx512.h"
#include "strata/generate/kernels/x86/panel_avx512.h"
#include "strata/generate/kernels/x86/panel_rows_avx512.h"

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
STRATA_AVX512 void Stage(const uint8_t* const (&rows)[kRows], int64_t begin, int /*num_columns*/,
                         Panel& panel) {
  PanelRows staged;
  alignas(32) uint16_t scales[kRows];
  alignas(32) uint16_t min_scales[kRows];
  for (int row = 0; row < kRows; ++row) {
    Codes256 codes;
    Type::Decode(rows[row] + begin / 256 * Type::kBlockBytes, codes);
    StageRow<Type>(codes, row, staged);
    scales[row] = codes.scale;
    if (Type::kHasMins) min_scales[row] = codes.min_scale;
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

}  // namespace

StagePanel FindStage256(BlockType type) {
  switch (type) {
    case BlockType::kQ2_K:
      return Stage<Q2_K>;
    case BlockType::kQ3_K:
      return Stage<Q3_K>;
    case BlockType::kQ4_K:
      return Stage<Q4_K>;
    case BlockType::kQ5_K:
      return Stage<Q5_K>;
    case BlockType::kQ6_K:
      return Stage<Q6_K>;
    case BlockType::kIQ4_XS:
      return Stage<IQ4_XS>;
    case BlockType::kIQ2_XXS:
      return Stage<IQ2_XXS>;
    case BlockType::kIQ2_XS:
      return Stage<IQ2_XS>;
    case BlockType::kIQ2_S:
      return Stage<IQ2_S>;
    case BlockType::kIQ3_XXS:
      return Stage<IQ3_XXS>;
    case BlockType::kIQ3_S:
      return Stage<IQ3_S>;
    default:
      return nullptr;
  }
}

}  // namespace strata::x86::avx512
