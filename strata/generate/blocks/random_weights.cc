#include "strata/generate/blocks/random_weights.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

// Either sign, exponent -14 .. 0.
uint16_t RandomHalf(std::mt19937& random) {
  const uint32_t exponent = 1 + random() % 15;
  return static_cast<uint16_t>((random() & 0x8000) | exponent << 10 | (random() & 0x3ff));
}

void Store(uint16_t value, std::byte* bytes) { std::memcpy(bytes, &value, sizeof(value)); }

// The scale of IQ1_M lies in the top four bits of its last four 16-bit words.
void StoreInPieces(uint16_t value, std::byte* words) {
  for (int i = 0; i < 4; ++i) {
    std::byte& top = words[2 * i + 1];
    top = (top & std::byte{0x0f}) | static_cast<std::byte>((value >> 4 * i & 15) << 4);
  }
}

void MakeScalesFinite(BlockType type, std::mt19937& random, std::byte* block) {
  const ScaleOffsets offsets = ScaleOffsetsOf(type);
  if (offsets.scale >= 0) Store(RandomHalf(random), block + offsets.scale);
  if (offsets.min_scale >= 0) Store(RandomHalf(random), block + offsets.min_scale);
  if (type == BlockType::kIQ1_M) StoreInPieces(RandomHalf(random), block + 48);
  if (type == BlockType::kMXFP4) block[0] = static_cast<std::byte>(114 + random() % 15);
  if (type == BlockType::kF32 || type == BlockType::kBF16) {
    const float value = f32::FromF16(RandomHalf(random));
    const uint16_t half = f32::ToBf16(value);
    if (type == BlockType::kF32) std::memcpy(block, &value, sizeof(value));
    if (type == BlockType::kBF16) Store(half, block);
  }
}

}  // namespace

ScaleOffsets ScaleOffsetsOf(BlockType type) {
  switch (type) {
    case BlockType::kF16:
    case BlockType::kQ4_0:
    case BlockType::kQ5_0:
    case BlockType::kQ8_0:
    case BlockType::kQ1_0:
    case BlockType::kQ2_0:
    case BlockType::kIQ4_NL:
    case BlockType::kIQ4_XS:
    case BlockType::kIQ1_S:
    case BlockType::kIQ2_XXS:
    case BlockType::kIQ2_XS:
    case BlockType::kIQ2_S:
    case BlockType::kIQ3_XXS:
    case BlockType::kIQ3_S:
      return {.scale = 0};
    case BlockType::kQ4_1:
    case BlockType::kQ5_1:
    case BlockType::kQ4_K:
    case BlockType::kQ5_K:
      return {.scale = 0, .min_scale = 2};
    case BlockType::kQ2_K:
      return {.scale = 80, .min_scale = 82};
    case BlockType::kQ3_K:
      return {.scale = 108};
    case BlockType::kQ6_K:
      return {.scale = 208};
    case BlockType::kTQ1_0:
      return {.scale = 52};
    case BlockType::kTQ2_0:
      return {.scale = 64};
    case BlockType::kIQ1_M:
    case BlockType::kMXFP4:
    case BlockType::kNVFP4:
    case BlockType::kF32:
    case BlockType::kBF16:
      return {};
    default:
      LOG(FATAL) << InfoOf(type).name << " is no type of weights";
  }
}

std::vector<std::byte> RandomWeights(BlockType type, int64_t num_weights, std::mt19937& random) {
  const BlockTypeInfo& info = InfoOf(type);
  CHECK_EQ(num_weights % info.block_weights, 0) << info.name;
  std::vector<std::byte> bytes(num_weights / info.block_weights * info.block_bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (size_t block = 0; block < bytes.size(); block += info.block_bytes) {
    MakeScalesFinite(type, random, &bytes[block]);
  }
  return bytes;
}

std::vector<float> RandomActivations(int64_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  float spread = 1.0f;
  for (int64_t i = 0; i < size; ++i) {
    if (i % 32 == 0) spread = std::exp2(2.0f * normal(random));
    values[i] = spread * normal(random);
  }
  return values;
}

}  // namespace strata
