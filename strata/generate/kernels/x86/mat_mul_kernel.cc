#include "strata/generate/kernels/x86/mat_mul_kernel.h"

#include <cstddef>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/kernels/x86/kernels_avx2.h"
#include "strata/generate/kernels/x86/kernels_avx512.h"

namespace strata::x86 {
namespace {

// With more vectors a panel pays for its staging. Measured with mat_mul_benchmark's kernels; the
// AVX2 panel is the slower one, and a grid the more expensive to decode.
size_t MaxRowVectorsAvx2(BlockType type) {
  switch (type) {
    case BlockType::kIQ2_XXS:
    case BlockType::kIQ2_XS:
    case BlockType::kIQ2_S:
    case BlockType::kIQ3_XXS:
    case BlockType::kIQ3_S:
      return 3;
    default:
      return 6;
  }
}
constexpr size_t kMaxRowVectorsAvx512 = 2;

MatMulKernel KernelForAvx2(BlockType type, size_t num_vectors) {
  if (const MatMulKernel kernel = avx2::FindNumberKernel(type)) return kernel;
  if (num_vectors > MaxRowVectorsAvx2(type)) return avx2::MultiplyPanels;
  if (const MatMulKernel kernel = avx2::FindRowKernel256(type)) return kernel;
  if (const MatMulKernel kernel = avx2::FindRowKernel32(type)) return kernel;
  return avx2::MultiplyPanels;
}

MatMulKernel KernelForAvx512(BlockType type, size_t num_vectors) {
  if (const MatMulKernel kernel = avx512::FindNumberKernel(type)) return kernel;
  if (num_vectors > kMaxRowVectorsAvx512) return avx512::MultiplyPanels;
  if (const MatMulKernel kernel = avx512::FindRowKernel256(type)) return kernel;
  if (const MatMulKernel kernel = avx512::FindRowKernel32(type)) return kernel;
  return avx512::MultiplyPanels;
}

}  // namespace

MatMulKernel KernelFor(Isa isa, BlockType type, size_t num_vectors) {
  return isa == Isa::kAvx512 ? KernelForAvx512(type, num_vectors)
                             : KernelForAvx2(type, num_vectors);
}

}  // namespace strata::x86
