#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/generate/kernels/cuda/head_vector.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kWarps = 4;

__device__ __forceinline__ void StoreQuery(const PrepareTask& task, int row, int index,
                                           const float* head) {
  const int size = task.kv.key_size;
  float* const to = task.queries + (int64_t{row} * task.num_heads + index) * size;
  for (int i = threadIdx.x % 32; i < size; i += 32) {
    to[i] = head[i];
    if (!f32::IsFinite(head[i])) ReportFault(task.fault, row);
  }
}

// A warp has one vector of a row.
template <int kPerLane>
__global__ void __launch_bounds__(32 * kWarps) Prepare(PrepareTask task) {
  __shared__ float heads[kWarps][32 * kPerLane];
  const int row = blockIdx.y;
  const int warp = threadIdx.x / 32;
  const KvLayer& kv = task.kv;
  const int number = blockIdx.x * kWarps + warp;
  const bool is_there = number < task.num_heads + 2 * kv.num_heads;
  const HeadVector vector = HeadVectorOf(task, row, is_there ? number : 0);
  HeadWarp<kPerLane> work(vector);
  work.LoadWeights();
  WaitForPredecessor();
  ReleaseSuccessor();
  if (!is_there) return;
  work.Load(task.rotation, row);
  const DeviceStepRow& place = task.step->rows[row];
  float* const head = heads[warp];
  work.StoreNormed(task.epsilon, head);
  work.Rotate(task.rotation.pairing, head);
  if (number < task.num_heads) return StoreQuery(task, row, vector.index, head);
  if (!StoreKeyOrValue(task, number, place, head)) ReportFault(task.fault, row);
}

void CheckSize(int size) { CHECK(0 < size && size <= kMaxHeadSize && size % 8 == 0) << size; }

}  // namespace

absl::Status PrepareHeads(const PrepareTask& task, const KernelStream& stream) {
  CHECK(0 < task.num_rows && task.num_rows <= kMaxRows) << task.num_rows;
  CheckSize(task.kv.key_size);
  CheckSize(task.kv.value_size);
  CHECK(task.rotation.num_dims % 2 == 0 && task.rotation.num_dims <= task.kv.key_size)
      << task.rotation.num_dims;
  const int num_vectors = task.num_heads + 2 * task.kv.num_heads;
  const KernelShape shape = {.grid = dim3((num_vectors + kWarps - 1) / kWarps, task.num_rows),
                             .block = 32 * kWarps};
  const bool is_short = task.kv.key_size <= 128 && task.kv.value_size <= 128;
  return LaunchKernel("heads of attention", is_short ? Prepare<4> : Prepare<kMaxHeadSize / 32>,
                      shape, stream, task);
}

}  // namespace strata
