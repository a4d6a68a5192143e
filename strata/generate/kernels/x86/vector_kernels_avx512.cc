#include <cstdint>

#include "strata/generate/kernels/x86/dot_avx512.h"
#include "strata/generate/kernels/x86/target.h"
#include "strata/generate/kernels/x86/vector_kernels.h"

namespace strata::x86 {
namespace {

STRATA_AVX512 float Sum(const float* x, int64_t n) {
  return avx512::DotOfRow<avx512::Ones>(nullptr, x, n);
}

STRATA_AVX512 void DotRows(const float* x, int64_t n, const float* rows, int64_t count,
                           float* results) {
  for (int64_t i = 0; i < count; ++i) {
    results[i] =
        avx512::DotOfRow<avx512::F32Row>(reinterpret_cast<const uint8_t*>(rows + i * n), x, n);
  }
}

STRATA_AVX512 STRATA_INLINE __mmask16 First(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : (1 << count) - 1);
}

STRATA_AVX512 void ToFloats(const uint16_t* halves, int64_t n, float* floats) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 present = First(n - i);
    const __m256i some = _mm256_maskz_loadu_epi16(present, halves + i);
    _mm512_mask_storeu_ps(floats + i, present, _mm512_cvtph_ps(some));
  }
}

STRATA_AVX512 void ToHalves(const float* floats, int64_t n, uint16_t* halves) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 present = First(n - i);
    const __m512 some = _mm512_maskz_loadu_ps(present, floats + i);
    _mm256_mask_storeu_epi16(halves + i, present, _mm512_cvtps_ph(some, _MM_FROUND_TO_NEAREST_INT));
  }
}

}  // namespace

const VectorKernels kVectorKernelsAvx512 = {Sum, DotRows, ToFloats, ToHalves};

}  // namespace strata::x86
