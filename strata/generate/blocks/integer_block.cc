#include "strata/generate/blocks/integer_block.h"

#include <optional>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/unpackers.h"

namespace strata {
namespace {

constexpr std::optional<ActivationForm> kA32 = ActivationForm::kA32;
constexpr std::optional<ActivationForm> kA256 = ActivationForm::kA256;

constexpr IntegerFormat kFormats[] = {
    {BlockType::kQ4_0, kA32, 32, false, 0, UnpackQ4_0},
    {BlockType::kQ4_1, kA32, 32, true, 0, UnpackQ4_1},
    {BlockType::kQ5_0, kA32, 32, false, 0, UnpackQ5_0},
    {BlockType::kQ5_1, kA32, 32, true, 0, UnpackQ5_1},
    {BlockType::kQ8_0, kA32, 32, false, 0, UnpackQ8_0},
    {BlockType::kQ8_1, std::nullopt, 32, false, 0, UnpackQ8_1},
    {BlockType::kQ2_K, kA256, 256, true, 16, UnpackQ2_K},
    {BlockType::kQ3_K, kA256, 256, false, 16, UnpackQ3_K},
    {BlockType::kQ4_K, kA256, 256, true, 32, UnpackQ4_K},
    {BlockType::kQ5_K, kA256, 256, true, 32, UnpackQ5_K},
    {BlockType::kQ6_K, kA256, 256, false, 16, UnpackQ6_K},
    {BlockType::kQ8_K, std::nullopt, 256, false, 256, UnpackQ8_K},
    {BlockType::kIQ2_XXS, kA256, 256, false, 32, UnpackIQ2_XXS},
    {BlockType::kIQ2_XS, kA256, 256, false, 16, UnpackIQ2_XS},
    {BlockType::kIQ3_XXS, kA256, 256, false, 32, UnpackIQ3_XXS},
    {BlockType::kIQ1_S, kA256, 256, false, 32, UnpackIQ1_S},
    {BlockType::kIQ4_NL, kA32, 32, false, 0, UnpackIQ4_NL},
    {BlockType::kIQ3_S, kA256, 256, false, 32, UnpackIQ3_S},
    {BlockType::kIQ2_S, kA256, 256, false, 16, UnpackIQ2_S},
    {BlockType::kIQ4_XS, kA256, 256, false, 32, UnpackIQ4_XS},
    {BlockType::kIQ1_M, kA256, 256, false, 16, UnpackIQ1_M},
    {BlockType::kTQ1_0, kA256, 256, false, 256, UnpackTQ1_0},
    {BlockType::kTQ2_0, kA256, 256, false, 256, UnpackTQ2_0},
    {BlockType::kMXFP4, kA32, 32, false, 0, UnpackMXFP4},
    {BlockType::kNVFP4, kA32, 16, false, 0, UnpackNVFP4},
    {BlockType::kQ1_0, kA32, 32, false, 0, UnpackQ1_0},
    {BlockType::kQ2_0, kA32, 32, false, 0, UnpackQ2_0},
};

}  // namespace

const IntegerFormat* FindIntegerFormat(BlockType type) {
  for (const IntegerFormat& format : kFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

}  // namespace strata
