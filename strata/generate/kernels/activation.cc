#include "strata/generate/kernels/activation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/numerics.h"

namespace strata {
namespace {

uint32_t MaxMagnitudeBits(const float* x, int64_t n) {
  uint32_t max = 0;
  for (int64_t i = 0; i < n; ++i) max = std::max(max, f32::MagnitudeBits(x[i]));
  return max;
}

// One block of `n` values; returns its scale. The magnitudes are at most `max`, finite.
float QuantizeBlock(const float* x, int n, float max, int8_t* q) {
  if (max < 0x1p-100f) {
    std::fill_n(q, n, int8_t{0});
    return 0.0f;
  }
  const float inverse = f32::Div(127.0f, max);
  for (int i = 0; i < n; ++i) {
    q[i] = static_cast<int8_t>(f32::RoundToInt(f32::Mul(x[i], inverse)));
  }
  return f32::Mul(max, 0x1.020408p-7f);  // 1 / 127
}

template <int kBlock, int kSum>
bool Quantize(absl::Span<const float> x, int8_t* q, float* scales, int16_t* sums) {
  CHECK_EQ(x.size() % kBlock, 0);
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    const uint32_t max = MaxMagnitudeBits(&x[begin], kBlock);
    if (max >= f32::kInfinityBits) return false;
    scales[begin / kBlock] = QuantizeBlock(&x[begin], kBlock, f32::FromBits(max), q + begin);
  }
  for (size_t begin = 0; begin < x.size(); begin += kSum) {
    int sum = 0;
    for (int i = 0; i < kSum; ++i) sum += q[begin + i];
    sums[begin / kSum] = static_cast<int16_t>(sum);
  }
  return true;
}

size_t RoundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

int BlockSizeOf(ActivationForm form) {
  switch (form) {
    case ActivationForm::kF32:
      return 1;
    case ActivationForm::kA32:
      return 32;
    case ActivationForm::kA256:
      return 256;
  }
  LOG(FATAL) << "no such activation form: " << static_cast<int>(form);
}

int SumSizeOf(ActivationForm form) {
  return form == ActivationForm::kA256 ? 16 : BlockSizeOf(form);
}

bool QuantizeA32(absl::Span<const float> x, int8_t* q, float* scales, int16_t* sums) {
  return Quantize<32, 32>(x, q, scales, sums);
}

bool QuantizeA256(absl::Span<const float> x, int8_t* q, float* scales, int16_t* sums) {
  return Quantize<256, 16>(x, q, scales, sums);
}

bool ActivationBuffer::Assign(ActivationForm form, absl::Span<const float> x) {
  view_ = {.form = form, .size = static_cast<int64_t>(x.size())};
  if (form == ActivationForm::kF32) {
    view_.values = x.data();
    return MaxMagnitudeBits(x.data(), view_.size) < f32::kInfinityBits;
  }
  // [q | scales | sums], the first two padded so that each begins aligned.
  const size_t q_bytes = RoundUp(x.size(), kAlignment);
  const size_t scale_bytes = RoundUp(x.size() / BlockSizeOf(form) * sizeof(float), kAlignment);
  const size_t bytes = q_bytes + scale_bytes + x.size() / SumSizeOf(form) * sizeof(int16_t);
  if (bytes > capacity_bytes_) {
    memory_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t(kAlignment))));
    capacity_bytes_ = bytes;
  }
  auto* q = reinterpret_cast<int8_t*>(memory_.get());
  auto* scales = reinterpret_cast<float*>(memory_.get() + q_bytes);
  auto* sums = reinterpret_cast<int16_t*>(memory_.get() + q_bytes + scale_bytes);
  view_.q = q;
  view_.scales = scales;
  view_.sums = sums;
  return form == ActivationForm::kA32 ? QuantizeA32(x, q, scales, sums)
                                      : QuantizeA256(x, q, scales, sums);
}

}  // namespace strata
