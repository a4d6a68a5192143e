// Kernels that do nothing but tensor core instructions: what products are measured against.
#ifndef STRATA_GENERATE_KERNELS_CUDA_MMA_RATE_H_
#define STRATA_GENERATE_KERNELS_CUDA_MMA_RATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {

enum class MmaKind { kBytes, kHalves };

// `blocks` blocks of MmaWarps() warps, each of which does `instructions` of m16n8k32 (kBytes) or
// m16n8k16 (kHalves). `sink` is a word that is written only by chance.
absl::Status LaunchMmaRate(MmaKind kind, int blocks, int instructions, uint32_t* sink,
                           const KernelStream& stream);

constexpr int MmaWarps() { return 8; }
// Multiplications and additions of an instruction.
constexpr double OperationsOf(MmaKind kind) {
  return 2.0 * 16 * 8 * (kind == MmaKind::kBytes ? 32 : 16);
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_MMA_RATE_H_
