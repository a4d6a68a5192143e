// What the decoders of a type with blocks of 256 have in common on both instruction sets.
//
// A weight is its code less kOffset, or the code with a sign where kHasSigns, times the factor of
// its kFactorWeights, times the scale of the block: the f16 at kScaleAt, times kStep. The scale of
// the minimums follows that f16.
#ifndef STRATA_GENERATE_KERNELS_X86_FORMATS_256_H_
#define STRATA_GENERATE_KERNELS_X86_FORMATS_256_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/target.h"

namespace strata::x86 {

template <BlockType kTypeOf, int kBytes, int kScaleAtByte, int kFactorWeightsOf>
struct Format256 {
  static constexpr BlockType kType = kTypeOf;
  static constexpr int kBlockBytes = kBytes;
  static constexpr int kScaleAt = kScaleAtByte;
  static constexpr int kFactorWeights = kFactorWeightsOf;  // 16 or 32.
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = false;
  static constexpr float kStep = 1.0f;
  // Decoded faster than one step from memory to the first-level cache delivers: see GroupPrefetch.
  // For other types the second request costs more than it brings.
  static constexpr bool kPrefetchesInTwoSteps = false;
};

template <BlockType kTypeOf, int kBytes, int kFactorWeightsOf>
struct FormatWithSigns : Format256<kTypeOf, kBytes, 0, kFactorWeightsOf> {
  static constexpr bool kHasSigns = true;
};

struct Q2_K_Format : Format256<BlockType::kQ2_K, 84, 80, 16> {
  static constexpr bool kHasMins = true;
};
struct Q3_K_Format : Format256<BlockType::kQ3_K, 110, 108, 16> {
  static constexpr int kOffset = 4;
};
struct Q4_K_Format : Format256<BlockType::kQ4_K, 144, 0, 32> {
  static constexpr bool kHasMins = true;
};
struct Q5_K_Format : Format256<BlockType::kQ5_K, 176, 0, 32> {
  static constexpr bool kHasMins = true;
};
struct Q6_K_Format : Format256<BlockType::kQ6_K, 210, 208, 16> {
  static constexpr int kOffset = 32;
  static constexpr bool kPrefetchesInTwoSteps = true;
};
struct IQ4_XS_Format : FormatWithSigns<BlockType::kIQ4_XS, 136, 32> {};
struct IQ2_XXS_Format : FormatWithSigns<BlockType::kIQ2_XXS, 66, 32> {
  static constexpr float kStep = 0.125f;
};
struct IQ2_XS_Format : FormatWithSigns<BlockType::kIQ2_XS, 74, 16> {
  static constexpr float kStep = 0.125f;
};
struct IQ2_S_Format : FormatWithSigns<BlockType::kIQ2_S, 82, 16> {
  static constexpr float kStep = 0.125f;
};
struct IQ3_XXS_Format : FormatWithSigns<BlockType::kIQ3_XXS, 98, 32> {
  static constexpr float kStep = 0.25f;
};
struct IQ3_S_Format : FormatWithSigns<BlockType::kIQ3_S, 110, 32> {};

// f16 bits: the scale of a block, and above it that of its minimums (or whatever follows).
template <typename Format>
STRATA_INLINE uint32_t ScaleBits(const uint8_t* block) {
  if (Format::kHasMins) return Load<uint32_t>(block + Format::kScaleAt);
  return Load<uint16_t>(block + Format::kScaleAt);
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_FORMATS_256_H_
