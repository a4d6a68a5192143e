#include "strata/generate/kernels/x86/mat_mul_kernel.h"

#include <cstddef>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/kernels/x86/kernels_avx2.h"
#include "strata/generate/kernels/x86/kernels_avx512.h"

namespace strata::x86 {
namespace {

// With more vectors a panel pays for its staging (mat_mul_benchmark shows where).
constexpr size_t kMaxRowVectors256 = 3;
constexpr size_t kMaxRowVectors32 = 2;

MatMulKernel KernelForAvx2(BlockType type, size_t num_vectors) {
  if (const MatMulKernel kernel = avx2::FindNumberKernel(type)) return kernel;
  const MatMulKernel of_256 = avx2::FindRowKernel256(type);
  if (of_256 != nullptr && num_vectors <= kMaxRowVectors256) return of_256;
  const MatMulKernel of_32 = avx2::FindRowKernel32(type);
  if (of_32 != nullptr && num_vectors <= kMaxRowVectors32) return of_32;
  return avx2::MultiplyPanels;
}

MatMulKernel KernelForAvx512(BlockType type, size_t num_vectors) {
  if (const MatMulKernel kernel = avx512::FindNumberKernel(type)) return kernel;
  const MatMulKernel of_256 = avx512::FindRowKernel256(type);
  if (of_256 != nullptr && num_vectors <= kMaxRowVectors256) return of_256;
  const MatMulKernel of_32 = avx512::FindRowKernel32(type);
  if (of_32 != nullptr && num_vectors <= kMaxRowVectors32) return of_32;
  return avx512::MultiplyPanels;
}

}  // namespace

MatMulKernel KernelFor(Isa isa, BlockType type, size_t num_vectors) {
  return isa == Isa::kAvx512 ? KernelForAvx512(type, num_vectors)
                             : KernelForAvx2(type, num_vectors);
}

}  // namespace strata::x86
