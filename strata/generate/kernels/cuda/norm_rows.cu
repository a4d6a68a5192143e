#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/cuda_status.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/norm_rows.h"
#include "strata/generate/kernels/cuda/residual_row.h"

namespace strata {
namespace {

constexpr int kValuesPerWarp = 256;

__device__ void StoreZeroRow(const NormTask& task, int row) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  for (int64_t begin = warp * kValuesPerWarp; begin < task.out.size;
       begin += kRowThreads / 32 * kValuesPerWarp) {
    const int64_t i = begin + 8 * lane;
    StoreForms(task.out, row, i, i < task.out.size, EightValues(), task.fault, row);
  }
}

// A block a row.
__global__ void __launch_bounds__(kRowThreads) Norm(NormTask task) {
  extern __shared__ float4 shared[];
  auto* const state = reinterpret_cast<float*>(shared);
  PrefetchNormWeights(task);
  WaitForPredecessor();
  ReleaseSuccessor();
  const int out_row = blockIdx.x;
  if (task.gather != nullptr && out_row >= task.gather->num_wanted) {
    return StoreZeroRow(task, out_row);
  }
  const int row = task.gather == nullptr ? out_row : task.gather->wanted[out_row];
  const float inverse = MakeState(task, row, state);
  const int size = static_cast<int>(task.out.size);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const bool stores_sum = task.residual.part != nullptr && task.gather == nullptr;
  for (int begin = warp * kValuesPerWarp; begin < size;
       begin += kRowThreads / 32 * kValuesPerWarp) {
    const int i = begin + 8 * lane;
    EightValues values = {};
    if (i < size) {
      const float4 low = shared[i / 4];
      const float4 high = shared[i / 4 + 1];
      values = {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
      if (stores_sum) {
        auto* const sum = reinterpret_cast<float4*>(task.residual.sum + int64_t{row} * size + i);
        sum[0] = low;
        sum[1] = high;
      }
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        values.v[k] = f32::Mul(inverse, values.v[k]);
        if (task.weight != nullptr) values.v[k] = f32::Mul(values.v[k], task.weight[i + k]);
      }
    }
    StoreForms(task.out, out_row, i, i < size, values, task.fault, row);
  }
}

}  // namespace

absl::Status NormRows(const NormTask& task, const KernelStream& stream) {
  CHECK(0 < task.num_rows && task.num_rows <= kMaxRows) << task.num_rows;
  CHECK(task.out.size > 0 && task.out.size % 8 == 0) << task.out.size;
  const size_t shared_bytes = task.out.size * sizeof(float);
  RETURN_IF_ERROR(AllowSharedBytes("norm of rows", Norm, shared_bytes));
  return LaunchKernel("norm of rows", Norm,
                      {.grid = static_cast<unsigned>(task.num_rows),
                       .block = kRowThreads,
                       .shared_bytes = shared_bytes},
                      stream, task);
}

}  // namespace strata
