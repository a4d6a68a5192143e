#include "strata/generate/kernels/vector_math.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/numerics/accumulators.h"
#include "strata/generate/numerics/hyperbolic.h"
#include "strata/generate/numerics/numerics.h"
#if defined(__x86_64__)
#include "strata/generate/kernels/x86/vector_kernels.h"
#endif

namespace strata {
namespace {

STRATA_NUMERIC int32_t OrderedBits(float x) {
  const auto bits = static_cast<int32_t>(f32::Bits(x));
  return bits ^ (bits >> 31 & 0x7fffffff);
}

}  // namespace

float Dot(absl::Span<const float> a, absl::Span<const float> b) {
  CHECK_EQ(a.size(), b.size());
  float result;
  DotRows(a, b.data(), absl::MakeSpan(&result, 1));
  return result;
}

float Sum(absl::Span<const float> x) {
  const auto n = static_cast<int64_t>(x.size());
#if defined(__x86_64__)
  const Isa isa = CurrentIsa();
  if (isa != Isa::kScalar) return x86::VectorKernelsOf(isa).sum(x.data(), n);
#endif
  return f32::Sum(x.data(), n);
}

float Max(absl::Span<const float> x) {
  CHECK(!x.empty());
  const size_t n = x.size();
  const float* const values = x.data();
  // As integers ordered like the values: a maximum that the compiler may take in any order.
  int32_t max = std::numeric_limits<int32_t>::min();
  RunOnCurrentIsa([ =, &max ]() __attribute__((always_inline)) {
    int32_t greatest = max;
    for (size_t i = 0; i < n; ++i) greatest = std::max(greatest, OrderedBits(values[i]));
    max = greatest;
  });
  return f32::FromBits(static_cast<uint32_t>(max ^ (max >> 31 & 0x7fffffff)));
}

bool AreFinite(absl::Span<const float> x) {
  const size_t n = x.size();
  const float* const values = x.data();
  bool are_finite = false;
  RunOnCurrentIsa([ =, &are_finite ]() __attribute__((always_inline)) {
    uint32_t max = 0;
    for (size_t i = 0; i < n; ++i) max = std::max(max, f32::MagnitudeBits(values[i]));
    are_finite = max < f32::kInfinityBits;
  });
  return are_finite;
}

int64_t ArgMax(absl::Span<const float> x) {
  return std::find(x.begin(), x.end(), Max(x)) - x.begin();
}

void DotRows(absl::Span<const float> x, const float* rows, absl::Span<float> results) {
  const auto n = static_cast<int64_t>(x.size());
#if defined(__x86_64__)
  const Isa isa = CurrentIsa();
  if (isa != Isa::kScalar) {
    const auto count = static_cast<int64_t>(results.size());
    x86::VectorKernelsOf(isa).dot_rows(x.data(), n, rows, count, results.data());
    return;
  }
#endif
  for (float& result : results) {
    result = f32::Dot(x.data(), rows, n);
    rows += n;
  }
}

void SumWeightedRows(absl::Span<const float> weights, const float* rows, absl::Span<float> result) {
  SumWeightedRows(weights, rows, static_cast<int64_t>(result.size()), result);
}

void SumWeightedRows(absl::Span<const float> weights, const float* rows, int64_t stride,
                     absl::Span<float> result) {
  std::fill(result.begin(), result.end(), 0.0f);
  const size_t n = result.size();
  const size_t count = weights.size();
  const float* const w = weights.data();
  float* const y = result.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    // A few columns at a time stay in registers while the rows pass.
    constexpr size_t kColumns = 64;
    for (size_t begin = 0; begin + kColumns <= n; begin += kColumns) {
      float sums[kColumns] = {};
      for (size_t i = 0; i < count; ++i) {
        const float* const row = rows + static_cast<int64_t>(i) * stride + begin;
        for (size_t j = 0; j < kColumns; ++j) sums[j] = f32::Fma(w[i], row[j], sums[j]);
      }
      for (size_t j = 0; j < kColumns; ++j) y[begin + j] = sums[j];
    }
    for (size_t i = 0; i < count; ++i) {
      const float* const row = rows + static_cast<int64_t>(i) * stride;
      for (size_t j = n / kColumns * kColumns; j < n; ++j) y[j] = f32::Fma(w[i], row[j], y[j]);
    }
  });
}

void AddWeighted(float weight, absl::Span<const float> x, absl::Span<float> y) {
  CHECK_EQ(x.size(), y.size());
  const size_t n = x.size();
  const float* const from = x.data();
  float* const to = y.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) to[i] = f32::Fma(weight, from[i], to[i]);
  });
}

void AddProduct(float weight, absl::Span<const float> x, absl::Span<float> y) {
  CHECK_EQ(x.size(), y.size());
  const size_t n = x.size();
  const float* const from = x.data();
  float* const to = y.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) to[i] = f32::Add(to[i], f32::Mul(from[i], weight));
  });
}

void Join(float old_weight, float weight, absl::Span<const float> x, absl::Span<float> y) {
  CHECK_EQ(x.size(), y.size());
  const size_t n = x.size();
  const float* const from = x.data();
  float* const to = y.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) to[i] = f32::Fma(to[i], old_weight, f32::Mul(from[i], weight));
  });
}

void Scale(float factor, absl::Span<float> x) {
  const size_t n = x.size();
  float* const values = x.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) values[i] = f32::Mul(factor, values[i]);
  });
}

void ApplySilu(absl::Span<float> x) {
  const size_t n = x.size();
  float* const values = x.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) values[i] = f32::Silu(values[i]);
  });
}

void CapSoftly(float cap, absl::Span<float> x) {
  const size_t n = x.size();
  float* const values = x.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) values[i] = f32::Mul(cap, f32::Tanh(f32::Div(values[i], cap)));
  });
}

void MultiplyInto(absl::Span<const float> x, absl::Span<float> y) {
  CHECK_EQ(x.size(), y.size());
  const size_t n = x.size();
  const float* const from = x.data();
  float* const to = y.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) to[i] = f32::Mul(from[i], to[i]);
  });
}

void ExpOfDifference(float shift, absl::Span<float> x) {
  const size_t n = x.size();
  float* const values = x.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) values[i] = f32::Exp(f32::Sub(values[i], shift));
  });
}

void HalvesToFloats(absl::Span<const uint16_t> halves, absl::Span<float> floats) {
  CHECK_EQ(halves.size(), floats.size());
#if defined(__x86_64__)
  const Isa isa = CurrentIsa();
  if (isa != Isa::kScalar) {
    const auto n = static_cast<int64_t>(halves.size());
    x86::VectorKernelsOf(isa).to_floats(halves.data(), n, floats.data());
    return;
  }
#endif
  for (size_t i = 0; i < halves.size(); ++i) floats[i] = f32::FromF16(halves[i]);
}

void FloatsToHalves(absl::Span<const float> floats, absl::Span<uint16_t> halves) {
  CHECK_EQ(halves.size(), floats.size());
#if defined(__x86_64__)
  const Isa isa = CurrentIsa();
  if (isa != Isa::kScalar) {
    const auto n = static_cast<int64_t>(floats.size());
    x86::VectorKernelsOf(isa).to_halves(floats.data(), n, halves.data());
    return;
  }
#endif
  for (size_t i = 0; i < floats.size(); ++i) halves[i] = f32::ToF16(floats[i]);
}

}  // namespace strata
