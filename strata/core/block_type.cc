#include "strata/core/block_type.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/types/span.h"
#include "glog/logging.h"

namespace strata {
namespace {

constexpr BlockTypeInfo kTypes[] = {
    {BlockType::kF32, "F32", 1, 4},
    {BlockType::kF16, "F16", 1, 2},
    {BlockType::kQ4_0, "Q4_0", 32, 18},
    {BlockType::kQ4_1, "Q4_1", 32, 20},
    {BlockType::kQ5_0, "Q5_0", 32, 22},
    {BlockType::kQ5_1, "Q5_1", 32, 24},
    {BlockType::kQ8_0, "Q8_0", 32, 34},
    {BlockType::kQ8_1, "Q8_1", 32, 36},
    {BlockType::kQ2_K, "Q2_K", 256, 84},
    {BlockType::kQ3_K, "Q3_K", 256, 110},
    {BlockType::kQ4_K, "Q4_K", 256, 144},
    {BlockType::kQ5_K, "Q5_K", 256, 176},
    {BlockType::kQ6_K, "Q6_K", 256, 210},
    {BlockType::kQ8_K, "Q8_K", 256, 292},
    {BlockType::kIQ2_XXS, "IQ2_XXS", 256, 66},
    {BlockType::kIQ2_XS, "IQ2_XS", 256, 74},
    {BlockType::kIQ3_XXS, "IQ3_XXS", 256, 98},
    {BlockType::kIQ1_S, "IQ1_S", 256, 50},
    {BlockType::kIQ4_NL, "IQ4_NL", 32, 18},
    {BlockType::kIQ3_S, "IQ3_S", 256, 110},
    {BlockType::kIQ2_S, "IQ2_S", 256, 82},
    {BlockType::kIQ4_XS, "IQ4_XS", 256, 136},
    {BlockType::kI8, "I8", 1, 1},
    {BlockType::kI16, "I16", 1, 2},
    {BlockType::kI32, "I32", 1, 4},
    {BlockType::kI64, "I64", 1, 8},
    {BlockType::kF64, "F64", 1, 8},
    {BlockType::kIQ1_M, "IQ1_M", 256, 56},
    {BlockType::kBF16, "BF16", 1, 2},
    {BlockType::kTQ1_0, "TQ1_0", 256, 54},
    {BlockType::kTQ2_0, "TQ2_0", 256, 66},
    {BlockType::kMXFP4, "MXFP4", 32, 17},
    {BlockType::kNVFP4, "NVFP4", 64, 36},
    {BlockType::kQ1_0, "Q1_0", 128, 18},
    {BlockType::kQ2_0, "Q2_0", 64, 18},
};

constexpr size_t kNumIds = static_cast<size_t>(std::end(kTypes)[-1].type) + 1;

constexpr std::array<int8_t, kNumIds> MakeIndexOfId() {
  std::array<int8_t, kNumIds> result = {};
  for (int8_t& index : result) index = -1;
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    result[static_cast<size_t>(kTypes[i].type)] = static_cast<int8_t>(i);
  }
  return result;
}

// Where the type of an id stands in kTypes; -1: nowhere. Kernels ask for every few rows.
constexpr std::array<int8_t, kNumIds> kIndexOfId = MakeIndexOfId();

}  // namespace

absl::Span<const BlockTypeInfo> AllBlockTypes() { return kTypes; }

const BlockTypeInfo* FindBlockType(uint32_t id) {
  return id < kIndexOfId.size() && kIndexOfId[id] >= 0 ? &kTypes[kIndexOfId[id]] : nullptr;
}

const BlockTypeInfo& InfoOf(BlockType type) {
  const BlockTypeInfo* info = FindBlockType(static_cast<uint32_t>(type));
  CHECK(info != nullptr) << "no block type has id " << static_cast<uint32_t>(type);
  return *info;
}

}  // namespace strata
