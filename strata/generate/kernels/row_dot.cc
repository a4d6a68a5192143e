#include "strata/generate/kernels/row_dot.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/numerics/accumulators.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int64_t kGroupWeights = 256;

// Vectors that share one pass over a row: their running values stay in the first-level cache.
constexpr size_t kMaxVectorsPerPass = 64;

int32_t DotOfIntegers(const int8_t* weights, const int8_t* q, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) sum += weights[i] * q[i];
  return sum;
}

int32_t DotOfFactors(const IntegerBlock& block, const int8_t* q, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; i += kWeightsPerFactor) {
    sum += block.factors[i / kWeightsPerFactor] *
           DotOfIntegers(block.weights + i, q + i, kWeightsPerFactor);
  }
  return sum;
}

int32_t DotOfMins(const int16_t* mins, const int16_t* sums, int n) {
  int32_t sum = 0;
  for (int j = 0; j < n; ++j) sum += mins[j] * sums[j];
  return sum;
}

// The chain of a group continued by the block whose weights start at `begin` of the row.
float Chain(const IntegerFormat& format, const IntegerBlock& block, const ActivationView& x,
            int64_t begin, float group) {
  const int n = format.integer_weights;
  const float da = x.scales[begin / BlockSizeOf(x.form)];
  const int32_t integer = format.has_factors() ? DotOfFactors(block, x.q + begin, n)
                                               : DotOfIntegers(block.weights, x.q + begin, n);
  group = f32::Fma(f32::Mul(block.scale, da), f32::FromInt(integer), group);
  if (!format.has_mins) return group;
  const int weights_per_sum = SumSizeOf(x.form);
  const int32_t min = DotOfMins(block.mins, x.sums + begin / weights_per_sum, n / weights_per_sum);
  return f32::Fma(f32::Mul(block.min_scale, da), f32::FromInt(min), group);
}

// At most kMaxVectorsPerPass vectors.
void DotsOfIntegerBlocks(const IntegerFormat& format, const uint8_t* row,
                         absl::Span<const ActivationView> xs, absl::Span<float> results) {
  const BlockTypeInfo& info = InfoOf(format.type);
  const int64_t columns = xs[0].size;
  float groups[kMaxVectorsPerPass];
  std::fill(results.begin(), results.end(), 0.0f);
  IntegerBlock block;
  for (int64_t group_begin = 0; group_begin < columns; group_begin += kGroupWeights) {
    const int64_t group_end = std::min(group_begin + kGroupWeights, columns);
    std::fill_n(groups, xs.size(), 0.0f);
    for (int64_t begin = group_begin; begin < group_end; begin += format.integer_weights) {
      const int part = static_cast<int>(begin % info.block_weights) / format.integer_weights;
      format.unpack(row + begin / info.block_weights * info.block_bytes, part, block);
      for (size_t v = 0; v < xs.size(); ++v) {
        groups[v] = Chain(format, block, xs[v], begin, groups[v]);
      }
    }
    for (size_t v = 0; v < xs.size(); ++v) results[v] = f32::Add(results[v], groups[v]);
  }
}

float DotOfNumbers(BlockType type, const uint8_t* row, const ActivationView& x) {
  const auto value = [&x](int64_t i) { return x.values[i]; };
  switch (type) {
    case BlockType::kF32:
      return f32::DotOf(
          x.size, [row](int64_t i) { return Load<float>(row + 4 * i); }, value);
    case BlockType::kF16:
      return f32::DotOf(
          x.size, [row](int64_t i) { return LoadF16(row + 2 * i); }, value);
    case BlockType::kBF16:
      return f32::DotOf(
          x.size, [row](int64_t i) { return f32::FromBf16(Load<uint16_t>(row + 2 * i)); }, value);
    default:
      LOG(FATAL) << InfoOf(type).name << " is no type of weights";
  }
}

}  // namespace

void RowDots(BlockType type, const std::byte* row, absl::Span<const ActivationView> xs,
             absl::Span<float> results) {
  CHECK_EQ(results.size(), xs.size());
  const std::optional<ActivationForm> form = ActivationFormOf(type);
  CHECK(form.has_value()) << InfoOf(type).name << " is no type of weights";
  for (const ActivationView& x : xs) {
    CHECK(x.form == *form && x.size == xs[0].size) << InfoOf(type).name;
    CHECK_EQ(x.size % InfoOf(type).block_weights, 0) << InfoOf(type).name;
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(row);
  const IntegerFormat* format = FindIntegerFormat(type);
  if (format == nullptr) {
    for (size_t v = 0; v < xs.size(); ++v) results[v] = DotOfNumbers(type, bytes, xs[v]);
    return;
  }
  for (size_t v = 0; v < xs.size(); v += kMaxVectorsPerPass) {
    DotsOfIntegerBlocks(*format, bytes, xs.subspan(v, kMaxVectorsPerPass),
                        results.subspan(v, kMaxVectorsPerPass));
  }
}

float RowDot(BlockType type, const std::byte* row, const ActivationView& x) {
  float result;
  RowDots(type, row, absl::MakeConstSpan(&x, 1), absl::MakeSpan(&result, 1));
  return result;
}

}  // namespace strata
