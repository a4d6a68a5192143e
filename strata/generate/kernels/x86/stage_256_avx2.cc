// Panels of types with blocks of 256.
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/grid_codes_avx2.h"
#include "strata/generate/kernels/x86/k_codes_avx2.h"
#include "strata/generate/kernels/x86/panel_avx2.h"
#include "strata/generate/kernels/x86/panel_rows_avx2.h"
#include "strata/generate/kernels/x86/type_list.h"

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
struct Stage {
  STRATA_AVX2 static void Run(const uint8_t* const (&rows)[kRows], int64_t begin,
                              int /*num_columns*/, Panel& panel) {
    PanelRows staged;
    alignas(16) uint16_t scales[kRows];
    alignas(16) uint16_t min_scales[kRows];
    for (int row = 0; row < kRows; ++row) {
      Codes256 codes;
      const uint8_t* block = rows[row] + begin / 256 * Type::kBlockBytes;
      Type::Decode(block, codes);
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) StoreWeights<Type>(codes, k, staged.weights[row]);
      if (Type::kHasMins) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(staged.mins[row]), codes.mins);
      }
      const uint32_t bits = ScaleBits<Type>(block);
      scales[row] = static_cast<uint16_t>(bits);
      min_scales[row] = static_cast<uint16_t>(bits >> 16);
    }
    TransposeWeights(staged, panel);
    if (Type::kHasMins) TransposeMins(staged, panel);
    for (int i = 0; i < kRows; i += 8) {
      const __m256 step = _mm256_set1_ps(Type::kStep);
      _mm256_store_ps(panel.scales[0] + i,
                      _mm256_mul_ps(_mm256_cvtph_ps(Load128(scales + i)), step));
      _mm256_store_ps(
          panel.min_scales[0] + i,
          _mm256_xor_ps(_mm256_cvtph_ps(Load128(min_scales + i)), _mm256_set1_ps(-0.0f)));
    }
  }
};

}  // namespace

StagePanel FindStage256(BlockType type) {
  const auto stage = FindKernel<StagePanel, Stage>(type, KTypes());
  return stage != nullptr ? stage : FindKernel<StagePanel, Stage>(type, GridTypes());
}

}  // namespace strata::x86::avx2
