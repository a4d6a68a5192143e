// Panels of types with blocks of 256.
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/x86/grid_codes_avx2.h"
#include "strata/generate/kernels/x86/k_codes_avx2.h"
#include "strata/generate/kernels/x86/panel_avx2.h"
#include "strata/generate/kernels/x86/panel_rows_avx2.h"

namespace strata::x86::avx2 {
namespace {

constexpr int kRows = Panel::kRows;

// The weights of codes[k], times their factors.
template <typename Type>
STRATA_AVX2 STRATA_INLINE void StoreWeights(const Codes256& codes, int k, int16_t* out) {
  const __m256i weights = Type::kHasSigns
                              ? _mm256_sign_epi8(codes.codes[k], codes.signs[k])
                              : _mm256_sub_epi8(codes.codes[k], _mm256_set1_epi8(Type::kOffset));
  const __m256i factors = PairFactors<Type::kFactorWeights>(codes.factors, k);
  const __m256i low = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(weights));
  const __m256i high = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(weights, 1));
  const __m256i low_factors = _mm256_permute2x128_si256(factors, factors, 0x00);
  const __m256i high_factors = _mm256_permute2x128_si256(factors, factors, 0x11);
  auto* to = reinterpret_cast<__m256i*>(out + 32 * k);
  _mm256_store_si256(to, _mm256_mullo_epi16(low, low_factors));
  _mm256_store_si256(to + 1, _mm256_mullo_epi16(high, high_factors));
}

template <typename Type>
STRATA_AVX2 void Stage(const uint8_t* const (&rows)[kRows], int64_t begin, int /*num_columns*/,
                       Panel& panel) {
  PanelRows staged;
  alignas(16) uint16_t scales[kRows];
  alignas(16) uint16_t min_scales[kRows] = {};
  for (int row = 0; row < kRows; ++row) {
    Codes256 codes;
    Type::Decode(rows[row] + begin / 256 * Type::kBlockBytes, codes);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) StoreWeights<Type>(codes, k, staged.weights[row]);
    scales[row] = codes.scale;
    if (!Type::kHasMins) continue;
    _mm256_store_si256(reinterpret_cast<__m256i*>(staged.mins[row]), codes.mins);
    min_scales[row] = codes.min_scale;
  }
  TransposeWeights(staged, panel);
  if (Type::kHasMins) TransposeMins(staged, panel);
  for (int i = 0; i < kRows; i += 8) {
    const __m256 step = _mm256_set1_ps(Type::kStep);
    _mm256_store_ps(panel.scales[0] + i, _mm256_mul_ps(_mm256_cvtph_ps(Load128(scales + i)), step));
    _mm256_store_ps(panel.min_scales[0] + i,
                    _mm256_xor_ps(_mm256_cvtph_ps(Load128(min_scales + i)), _mm256_set1_ps(-0.0f)));
  }
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

}  // namespace strata::x86::avx2
