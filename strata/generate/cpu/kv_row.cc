#include "strata/generate/cpu/kv_row.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kInt8BlockSize = 32;

struct Int8Block {
  float scale;
  int8_t q[kInt8BlockSize];
};

bool EncodeF32(absl::Span<const float> values, float* row) {
  bool finite = true;
  for (size_t i = 0; i < values.size(); ++i) {
    row[i] = values[i];
    finite = finite && f32::IsFinite(values[i]);
  }
  return finite;
}

bool EncodeF16(absl::Span<const float> values, uint16_t* row) {
  constexpr int kInfinityBits = 0x7c00;
  const absl::Span<uint16_t> halves(row, values.size());
  FloatsToHalves(values, halves);
  return std::all_of(halves.begin(), halves.end(),
                     [](uint16_t half) { return (half & 0x7fff) < kInfinityBits; });
}

bool EncodeInt8(absl::Span<const float> values, Int8Block* row) {
  bool finite = true;
  for (; !values.empty(); ++row) {
    const absl::Span<const float> block = values.subspan(0, kInt8BlockSize);
    float padded[kInt8BlockSize] = {};
    std::copy(block.begin(), block.end(), padded);
    int16_t unused_sum;
    finite = QuantizeA32(padded, row->q, &row->scale, &unused_sum) && finite;
    values.remove_prefix(block.size());
  }
  return finite;
}

void DecodeInt8(const Int8Block* row, absl::Span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Int8Block& block = row[i / kInt8BlockSize];
    values[i] = f32::Mul(block.scale, f32::FromInt(block.q[i % kInt8BlockSize]));
  }
}

}  // namespace

int64_t KvRowBytes(KvType type, int size) {
  switch (type) {
    case KvType::kF32:
      return int64_t{4} * size;
    case KvType::kF16:
      return int64_t{4} * ((size + 1) / 2);
    case KvType::kInt8:
      return (size + kInt8BlockSize - 1) / kInt8BlockSize * int64_t{sizeof(Int8Block)};
  }
  LOG(FATAL) << "no such KV type: " << static_cast<int>(type);
}

bool EncodeKvRow(KvType type, absl::Span<const float> values, std::byte* row) {
  switch (type) {
    case KvType::kF32:
      return EncodeF32(values, reinterpret_cast<float*>(row));
    case KvType::kF16:
      return EncodeF16(values, reinterpret_cast<uint16_t*>(row));
    case KvType::kInt8:
      return EncodeInt8(values, reinterpret_cast<Int8Block*>(row));
  }
  LOG(FATAL) << "no such KV type: " << static_cast<int>(type);
}

void DecodeKvRow(KvType type, const std::byte* row, absl::Span<float> values) {
  switch (type) {
    case KvType::kF32:
      std::memcpy(values.data(), row, values.size() * sizeof(float));
      return;
    case KvType::kF16:
      HalvesToFloats({reinterpret_cast<const uint16_t*>(row), values.size()}, values);
      return;
    case KvType::kInt8:
      DecodeInt8(reinterpret_cast<const Int8Block*>(row), values);
      return;
  }
  LOG(FATAL) << "no such KV type: " << static_cast<int>(type);
}

}  // namespace strata
