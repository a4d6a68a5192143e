// The first half of NormRows for one row, which RouteRows shares, by the first 128 threads of a block.
#ifndef STRATA_GENERATE_KERNELS_CUDA_RESIDUAL_ROW_H_
#define STRATA_GENERATE_KERNELS_CUDA_RESIDUAL_ROW_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr int kRowThreads = 128;

#ifdef __CUDACC__

// Vectors of weights that a row will meet, asked for before the wait.
__device__ __forceinline__ void PrefetchNormWeights(const NormTask& task) {
  constexpr int kLine = 32;  // Floats of 128 bytes.
  for (int64_t i = threadIdx.x * kLine; i < task.out.size; i += kRowThreads * kLine) {
    if (task.weight != nullptr) PrefetchToL2(task.weight + i);
    if (task.residual.norm_after != nullptr) PrefetchToL2(task.residual.norm_after + i);
  }
}

// A row is loaded 16 elements a thread at once, so that most widths wait for memory once.
inline constexpr int kElementsAtOnce = 16;

// Element i of a row in thread i % 128.
template <typename Use>
__device__ __forceinline__ void ForOwnElements(const float* from, const float* and_from, int size,
                                               Use use) {
  if (threadIdx.x >= kRowThreads) return;
  for (int begin = threadIdx.x; begin < size; begin += kElementsAtOnce * kRowThreads) {
    float a[kElementsAtOnce];
    float b[kElementsAtOnce];
#pragma unroll
    for (int k = 0; k < kElementsAtOnce; ++k) {
      const int i = begin + k * kRowThreads;
      a[k] = i < size ? from[i] : 0.0f;
      b[k] = i < size && and_from != nullptr ? and_from[i] : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < kElementsAtOnce; ++k) {
      const int i = begin + k * kRowThreads;
      if (i < size) use(i, a[k], b[k]);
    }
  }
}

// The new state of a row to shared memory: thread i % 128 of the block stored element i. Returns, in
// all threads and after a barrier, what it is multiplied with to be normed.
__device__ __forceinline__ float MakeState(const NormTask& task, int row, float* state) {
  __shared__ float accumulators[2][kRowThreads];
  const int size = static_cast<int>(task.out.size);
  const float* const x = task.x + int64_t{row} * size;
  const DeviceResidual& residual = task.residual;
  float squares = 0.0f;
  if (residual.part == nullptr) {
    ForOwnElements(x, nullptr, size, [&](int i, float value, float) {
      state[i] = value;
      squares = f32::Fma(value, value, squares);
    });
    return InverseRms(FoldBlock(squares, accumulators[0]), size, task.epsilon);
  }
  const float* const part = residual.part + int64_t{row} * size;
  const bool has_norm = residual.norm_after != nullptr;
  float inverse = 1.0f;
  if (has_norm) {
    ForOwnElements(part, nullptr, size,
                   [&](int, float value, float) { squares = f32::Fma(value, value, squares); });
    inverse = InverseRms(FoldBlock(squares, accumulators[1]), size, task.epsilon);
    squares = 0.0f;
  }
  ForOwnElements(x, part, size, [&](int i, float value, float addend) {
    if (has_norm) addend = f32::Mul(f32::Mul(inverse, addend), residual.norm_after[i]);
    value = f32::Add(value, f32::Mul(residual.scale, addend));
    state[i] = value;
    squares = f32::Fma(value, value, squares);
  });
  return InverseRms(FoldBlock(squares, accumulators[0]), size, task.epsilon);
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_RESIDUAL_ROW_H_
