#include "strata/generate/blocks/decode.h"

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

// One integer block to out[0 .. format.integer_weights).
void DecodeBlock(const IntegerFormat& format, const IntegerBlock& block, float* out) {
  for (int i = 0; i < format.integer_weights; ++i) {
    const int factor = format.has_factors() ? block.factors[i / kWeightsPerFactor] : 1;
    out[i] = f32::Mul(block.scale, f32::FromInt(factor * block.weights[i]));
  }
  if (!format.has_mins) return;
  const int weights_per_min = SumSizeOf(*format.activation);
  for (int i = 0; i < format.integer_weights; ++i) {
    const int min = block.mins[i / weights_per_min];
    out[i] = f32::Add(out[i], f32::Mul(block.min_scale, f32::FromInt(min)));
  }
}

void DecodeIntegerBlocks(const IntegerFormat& format, const uint8_t* row, absl::Span<float> out) {
  const BlockTypeInfo& info = InfoOf(format.type);
  IntegerBlock block;
  for (size_t begin = 0; begin < out.size(); begin += info.block_weights) {
    for (int part = 0; part < info.block_weights / format.integer_weights; ++part) {
      format.unpack(row, part, block);
      DecodeBlock(format, block, &out[begin + part * format.integer_weights]);
    }
    row += info.block_bytes;
  }
}

template <typename Stored, typename ToF32>
void DecodeNumbers(const uint8_t* row, absl::Span<float> out, ToF32 to_f32) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = to_f32(Load<Stored>(row + i * sizeof(Stored)));
}

template <typename Stored>
void CastNumbers(const uint8_t* row, absl::Span<float> out) {
  DecodeNumbers<Stored>(row, out, [](Stored value) { return static_cast<float>(value); });
}

void DecodePlainNumbers(BlockType type, const uint8_t* row, absl::Span<float> out) {
  switch (type) {
    case BlockType::kF32:
      return CastNumbers<float>(row, out);
    case BlockType::kF16:
      return DecodeNumbers<uint16_t>(row, out, f32::FromF16);
    case BlockType::kBF16:
      return DecodeNumbers<uint16_t>(row, out, f32::FromBf16);
    case BlockType::kF64:
      return CastNumbers<double>(row, out);
    case BlockType::kI8:
      return CastNumbers<int8_t>(row, out);
    case BlockType::kI16:
      return CastNumbers<int16_t>(row, out);
    case BlockType::kI32:
      return CastNumbers<int32_t>(row, out);
    case BlockType::kI64:
      return CastNumbers<int64_t>(row, out);
    default:
      LOG(FATAL) << "no decoder for " << InfoOf(type).name;
  }
}

}  // namespace

void DecodeRow(BlockType type, const std::byte* row, absl::Span<float> out) {
  CHECK_EQ(out.size() % InfoOf(type).block_weights, 0) << InfoOf(type).name;
  const auto* bytes = reinterpret_cast<const uint8_t*>(row);
  const IntegerFormat* format = FindIntegerFormat(type);
  if (format != nullptr) {
    DecodeIntegerBlocks(*format, bytes, out);
  } else {
    DecodePlainNumbers(type, bytes, out);
  }
}

}  // namespace strata
