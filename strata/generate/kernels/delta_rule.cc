#include "strata/generate/kernels/delta_rule.h"

#include <cstdint>

#include "strata/generate/kernels/delta_memory.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/numerics/numerics.h"
#if defined(__x86_64__)
#include "strata/generate/kernels/x86/delta_kernels.h"
#endif

namespace strata {
namespace {

constexpr int kColumns = DeltaMemory::kBlockColumns;
constexpr int kChains = 4;

// Of one column.
float SumOf(const float* factors, const float* column, int64_t size) {
  float chains[kChains] = {};
  for (int64_t i = 0; i < size; ++i) {
    chains[i % kChains] = f32::Fma(factors[i], column[i * kColumns], chains[i % kChains]);
  }
  return f32::Add(f32::Add(chains[0], chains[2]), f32::Add(chains[1], chains[3]));
}

}  // namespace

void ApplyDeltaRule(const DeltaToken& token, const float* before, float* after, float* out) {
#if defined(__x86_64__)
  const Isa isa = CurrentIsa();
  if (isa != Isa::kScalar) return x86::DeltaKernelOf(isa)(token, before, after, out);
#endif
  for (int j = 0; j < kColumns; ++j) {
    const float held = SumOf(token.key, before + j, token.size);
    const float read = SumOf(token.query, before + j, token.size);
    const float change = f32::Mul(token.beta, f32::Fma(-token.decay, held, token.value[j]));
    out[j] = f32::Fma(change, token.query_dot_key, f32::Mul(token.decay, read));
    for (int64_t i = 0; i < token.size; ++i) {
      const float kept = f32::Mul(token.decay, before[i * kColumns + j]);
      after[i * kColumns + j] = f32::Fma(token.key[i], change, kept);
    }
  }
}

}  // namespace strata
