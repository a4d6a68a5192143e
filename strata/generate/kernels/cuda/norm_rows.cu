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

// Each thread stores eight neighbouring values, so most widths are stored in one round.
constexpr int kThreads = 256;
constexpr int kValuesPerRound = 8 * kThreads;
static_assert(kThreads >= kRowThreads);

__device__ void StoreZeroRow(const NormTask& task, int row) {
  for (int64_t begin = 0; begin < task.out.size; begin += kValuesPerRound) {
    const int64_t i = begin + 8 * threadIdx.x;
    StoreForms(task.out, row, i, i < task.out.size, EightValues(), task.fault, row);
  }
}

__device__ __forceinline__ EightValues LoadWeights(const NormTask& task, int i) {
  EightValues weights;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    weights.v[k] = task.weight != nullptr && i < task.out.size ? task.weight[i + k] : 1.0f;
  }
  return weights;
}

// A block a row.
__global__ void __launch_bounds__(kThreads) Norm(NormTask task) {
  extern __shared__ float4 shared[];
  auto* const state = reinterpret_cast<float*>(shared);
  EightValues weights = LoadWeights(task, 8 * threadIdx.x);
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
  const bool stores_sum = task.residual.part != nullptr && task.gather == nullptr;
  for (int begin = 0; begin < size; begin += kValuesPerRound) {
    const int i = begin + 8 * threadIdx.x;
    if (begin > 0) weights = LoadWeights(task, i);
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
        values.v[k] = f32::Mul(f32::Mul(inverse, values.v[k]), weights.v[k]);
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
                       .block = kThreads,
                       .shared_bytes = shared_bytes},
                      stream, task);
}

}  // namespace strata
