#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/prompt_layers.h"
#include "strata/generate/kernels/cuda/residual_row.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kWarps = kRowThreads / 32;
constexpr int kQuantizeWarps = 8;

__device__ __forceinline__ int ReportedRow(int64_t row) {
  return static_cast<int>(row < 255 ? row : 255);
}

__device__ __forceinline__ EightValues LoadEight(const float* from, bool is_there) {
  EightValues values = {};
  if (!is_there) return values;
  const float4 low = reinterpret_cast<const float4*>(from)[0];
  const float4 high = reinterpret_cast<const float4*>(from)[1];
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

// A block a row.
__global__ void __launch_bounds__(kRowThreads) Norm(const __grid_constant__ NormTask task) {
  extern __shared__ float4 shared[];
  auto* const state = reinterpret_cast<float*>(shared);
  WaitForPredecessor();
  ReleaseSuccessor();
  const int row = blockIdx.x;
  const int size = static_cast<int>(task.out.size);
  const float inverse = MakeState(task, row, state);
  for (int i = threadIdx.x; i < size; i += kRowThreads) {
    const float value = state[i];
    if (task.residual.part != nullptr) task.residual.sum[int64_t{row} * size + i] = value;
    const float normed = f32::Mul(inverse, value);
    state[i] = task.weight == nullptr ? normed : f32::Mul(normed, task.weight[i]);
  }
  __syncthreads();
  for (int begin = threadIdx.x / 32 * 256; begin < size; begin += kWarps * 256) {
    const int i = begin + threadIdx.x % 32 * 8;
    StoreForms(task.out, row, i, i < size, LoadEight(state + i, i < size), task.fault,
               ReportedRow(row));
  }
}

// A warp has 256 values of a vector.
__global__ void __launch_bounds__(32 * kQuantizeWarps)
    Quantize(const __grid_constant__ PromptQuantizeTask task) {
  WaitForPredecessor();
  ReleaseSuccessor();
  const int size = static_cast<int>(task.vectors.size);
  const int runs = (size + 255) / 256;
  const int64_t item = int64_t{blockIdx.x} * kQuantizeWarps + threadIdx.x / 32;
  const int64_t vector = item / runs;
  if (vector >= task.num_vectors) return;
  const int i = static_cast<int>(item % runs) * 256 + threadIdx.x % 32 * 8;
  const EightValues values = LoadEight(task.vectors.values + vector * size + i, i < size);
  DeviceActivations out = task.vectors;
  out.values = nullptr;
  StoreForms(out, static_cast<int>(vector), i, i < size, values, task.fault,
             ReportedRow(vector / task.vectors_per_row));
}

void CheckSize(int64_t size) { CHECK(size > 0 && size % 8 == 0) << size; }

}  // namespace

absl::Status NormPromptRows(const NormTask& task, const KernelStream& stream) {
  CheckSize(task.out.size);
  CHECK(task.num_rows > 0 && task.gather == nullptr);
  const size_t shared_bytes = task.out.size * sizeof(float);
  RETURN_IF_ERROR(AllowSharedBytes("norm of a prompt", Norm, shared_bytes));
  return LaunchKernel("norm of a prompt", Norm,
                      {.grid = static_cast<unsigned>(task.num_rows),
                       .block = kRowThreads,
                       .shared_bytes = shared_bytes},
                      stream, task);
}

absl::Status QuantizePromptRows(const PromptQuantizeTask& task, const KernelStream& stream) {
  CheckSize(task.vectors.size);
  const int64_t items = task.num_vectors * ((task.vectors.size + 255) / 256);
  return LaunchKernel("int8 forms of a prompt", Quantize,
                      {.grid = static_cast<unsigned>((items + kQuantizeWarps - 1) / kQuantizeWarps),
                       .block = 32 * kQuantizeWarps},
                      stream, task);
}

}  // namespace strata
