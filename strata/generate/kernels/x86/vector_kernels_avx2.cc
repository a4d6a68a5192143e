#include <algorithm>
#include <cstdint>

#include "strata/generate/kernels/x86/dot_avx2.h"
#include "strata/generate/kernels/x86/target.h"
#include "strata/generate/kernels/x86/vector_kernels.h"

namespace strata::x86 {
namespace {

STRATA_AVX2 float Sum(const float* x, int64_t n) {
  return avx2::DotOfRow<avx2::Ones>(nullptr, x, n);
}

STRATA_AVX2 void DotRows(const float* x, int64_t n, const float* rows, int64_t count,
                         float* results) {
  for (int64_t i = 0; i < count; ++i) {
    results[i] = avx2::DotOfRow<avx2::F32Row>(reinterpret_cast<const uint8_t*>(rows + i * n), x, n);
  }
}

STRATA_AVX2 STRATA_INLINE void EightToFloats(const uint16_t* halves, float* floats) {
  const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(halves));
  _mm256_storeu_ps(floats, _mm256_cvtph_ps(eight));
}

STRATA_AVX2 STRATA_INLINE void EightToHalves(const float* floats, uint16_t* halves) {
  const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(floats), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(halves), eight);
}

STRATA_AVX2 void ToFloats(const uint16_t* halves, int64_t n, float* floats) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) EightToFloats(halves + i, floats + i);
  uint16_t from[8] = {};
  float to[8];
  std::copy(halves + i, halves + n, from);
  EightToFloats(from, to);
  std::copy_n(to, n - i, floats + i);
}

STRATA_AVX2 void ToHalves(const float* floats, int64_t n, uint16_t* halves) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) EightToHalves(floats + i, halves + i);
  float from[8] = {};
  uint16_t to[8];
  std::copy(floats + i, floats + n, from);
  EightToHalves(from, to);
  std::copy_n(to, n - i, halves + i);
}

}  // namespace

const VectorKernels kVectorKernelsAvx2 = {Sum, DotRows, ToFloats, ToHalves};

}  // namespace strata::x86
