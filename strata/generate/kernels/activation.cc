#include "strata/generate/kernels/activation.h"

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/aligned_memory.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

STRATA_NUMERIC uint32_t MaxMagnitudeBits(const float* x, int64_t n) {
  uint32_t max = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t magnitude = f32::MagnitudeBits(x[i]);
    max = magnitude > max ? magnitude : max;
  }
  return max;
}

// One block of `n` values; returns its scale. The magnitudes are at most `max`, finite.
STRATA_NUMERIC float QuantizeBlock(const float* x, int n, float max, int8_t* q) {
  if (max < 0x1p-100f) {
    for (int i = 0; i < n; ++i) q[i] = 0;
    return 0.0f;
  }
  const float inverse = f32::Div(127.0f, max);
  for (int i = 0; i < n; ++i) {
    q[i] = static_cast<int8_t>(f32::RoundToInt(f32::Mul(x[i], inverse)));
  }
  return f32::Mul(max, 0x1.020408p-7f);  // 1 / 127
}

// False when a value is NaN or infinite.
template <int kBlock, int kSum>
STRATA_NUMERIC bool QuantizeBlocks(const float* x, int64_t n, int8_t* q, float* scales,
                                   int16_t* sums) {
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const uint32_t max = MaxMagnitudeBits(x + begin, kBlock);
    if (max >= f32::kInfinityBits) return false;
    scales[begin / kBlock] = QuantizeBlock(x + begin, kBlock, f32::FromBits(max), q + begin);
  }
  for (int64_t begin = 0; begin < n; begin += kSum) {
    int sum = 0;
    for (int i = 0; i < kSum; ++i) sum += q[begin + i];
    sums[begin / kSum] = static_cast<int16_t>(sum);
  }
  return true;
}

template <int kBlock, int kSum>
bool Quantize(absl::Span<const float> x, int8_t* q, float* scales, int16_t* sums) {
  CHECK_EQ(x.size() % kBlock, 0);
  const float* const from = x.data();
  const auto n = static_cast<int64_t>(x.size());
  bool is_finite = false;
  RunOnCurrentIsa([ =, &is_finite ]() __attribute__((always_inline)) {
    is_finite = QuantizeBlocks<kBlock, kSum>(from, n, q, scales, sums);
  });
  return is_finite;
}

int64_t RoundUpToLine(int64_t bytes) {
  return (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
}

int64_t ScaleBytes(ActivationForm form, int64_t size) {
  return RoundUpToLine(size / BlockSizeOf(form) * int64_t{sizeof(float)});
}

}  // namespace

bool QuantizeA32(absl::Span<const float> x, int8_t* q, float* scales, int16_t* sums) {
  return Quantize<32, 32>(x, q, scales, sums);
}

bool QuantizeA256(absl::Span<const float> x, int8_t* q, float* scales, int16_t* sums) {
  return Quantize<256, 16>(x, q, scales, sums);
}

bool ActivationBuffer::Assign(ActivationForm form, absl::Span<const float> x) {
  Start(form, x);
  return Convert(0, view_.size);
}

void ActivationBuffer::Start(ActivationForm form, absl::Span<const float> x) {
  x_ = x.data();
  view_ = {.form = form, .size = static_cast<int64_t>(x.size())};
  if (form == ActivationForm::kF32) {
    view_.values = x_;
    return;
  }
  // [q | scales | sums], the first two padded so that each begins aligned.
  const int64_t q_bytes = RoundUpToLine(view_.size);
  const int64_t scale_bytes = ScaleBytes(form, view_.size);
  const int64_t bytes = BytesFor(form, view_.size);
  if (bytes > capacity_bytes_) {
    memory_ = AllocateAligned<std::byte>(bytes);
    capacity_bytes_ = bytes;
  }
  view_.q = q_ = reinterpret_cast<int8_t*>(memory_.get());
  view_.scales = scales_ = reinterpret_cast<float*>(memory_.get() + q_bytes);
  view_.sums = sums_ = reinterpret_cast<int16_t*>(memory_.get() + q_bytes + scale_bytes);
}

int64_t ActivationBuffer::BytesFor(ActivationForm form, int64_t size) {
  if (form == ActivationForm::kF32) return 0;
  return RoundUpToLine(size) + ScaleBytes(form, size) +
         size / SumSizeOf(form) * int64_t{sizeof(int16_t)};
}

bool ActivationBuffer::Convert(int64_t begin, int64_t end) {
  CHECK(0 <= begin && begin <= end && end <= view_.size) << begin << ".." << end;
  const absl::Span<const float> x(x_ + begin, static_cast<size_t>(end - begin));
  if (view_.form == ActivationForm::kF32) return AreFinite(x);
  CHECK_EQ(begin % BlockSizeOf(view_.form), 0);
  int8_t* const q = q_ + begin;
  float* const scales = scales_ + begin / BlockSizeOf(view_.form);
  int16_t* const sums = sums_ + begin / SumSizeOf(view_.form);
  return view_.form == ActivationForm::kA32 ? QuantizeA32(x, q, scales, sums)
                                            : QuantizeA256(x, q, scales, sums);
}

}  // namespace strata
