#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/mma_rate.h"
#include "strata/generate/kernels/cuda/prompt_mma.cuh"

namespace strata {
namespace {

constexpr int kChains = 8;  // That do not wait for each other.

// Operands that no compiler knows.
__device__ __forceinline__ uint32_t Scrambled(uint32_t x) {
  x = (x ^ x >> 15) * 0x2c1b3c6du;
  return (x ^ x >> 13) & 0x3b3b3b3bu;  // As halves: finite, below 1.
}

template <MmaKind kKind>
__global__ void __launch_bounds__(32 * MmaWarps()) Rate(int instructions, uint32_t* sink) {
  WaitForPredecessor();
  ReleaseSuccessor();
  const uint32_t seed = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t a[4] = {Scrambled(seed), Scrambled(seed + 7), Scrambled(seed + 77),
                         Scrambled(seed + 777)};
  const uint32_t b[2] = {Scrambled(seed + 99), Scrambled(seed + 999)};
  int32_t bytes[kChains][4] = {};
  float halves[kChains][4] = {};
#pragma unroll 1
  for (int i = 0; i < instructions / kChains; ++i) {
#pragma unroll
    for (int k = 0; k < kChains; ++k) {
      if constexpr (kKind == MmaKind::kBytes) {
        MmaBytes32(bytes[k], a, b[0], b[1], bytes[k]);
      } else {
        MmaHalves(halves[k], a, b[0], b[1]);
      }
    }
  }
  uint32_t folded = 0;
#pragma unroll
  for (int k = 0; k < kChains; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      folded ^= static_cast<uint32_t>(bytes[k][i]) ^ __float_as_uint(halves[k][i]);
    }
  }
  if (folded == 0x12345678u) *sink = folded;
}

}  // namespace

absl::Status LaunchMmaRate(MmaKind kind, int blocks, int instructions, uint32_t* sink,
                           const KernelStream& stream) {
  const KernelShape shape = {.grid = static_cast<unsigned>(blocks), .block = 32 * MmaWarps()};
  return kind == MmaKind::kBytes ? LaunchKernel("rate of bytes", Rate<MmaKind::kBytes>, shape,
                                                stream, instructions, sink)
                                 : LaunchKernel("rate of halves", Rate<MmaKind::kHalves>, shape,
                                                stream, instructions, sink);
}

}  // namespace strata
