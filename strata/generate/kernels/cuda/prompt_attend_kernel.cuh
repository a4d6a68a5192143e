// The kernel of prompt_attend.h, one for each format of the cache and each size that heads are
// padded to.
//
// A block has kSlots pairs of a row and a head that share a KV head, a warp 16 of them. Keys and
// values of f16 are copied one page ahead; those of other formats are converted, one after the
// other, when their turn comes.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_KERNEL_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_KERNEL_CUH_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_attend.h"
#include "strata/generate/kernels/cuda/prompt_attend_kernels.h"
#include "strata/generate/kernels/cuda/prompt_attend_math.cuh"
#include "strata/generate/kernels/cuda/prompt_attend_shared.cuh"
#include "strata/generate/kernels/cuda/prompt_mma.cuh"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// The pages that a block's rows see, with the keys and values of its KV head.
struct AttendedPages {
  __device__ __forceinline__ AttendedPages(const PromptAttendTask& task, const AttendedRows& rows)
      : table(task.page_table + rows.run.first_page) {
    const int kv_head = rows.first_head / (task.num_heads / task.kv.num_heads);
    keys_offset = task.kv.keys_offset(kv_head);
    values_offset = task.kv.values_offset(kv_head);
    const int first_position = rows.run.first_position + rows.first;
    last_position = first_position + rows.count - 1;
    first = task.window > 0 && task.window <= first_position
                ? (first_position - static_cast<int>(task.window) + 1) / kPage
                : 0;
    last = last_position / kPage;
  }

  __device__ __forceinline__ const std::byte* keys(int page) const {
    return table[page] + keys_offset;
  }
  __device__ __forceinline__ const std::byte* values(int page) const {
    return table[page] + values_offset;
  }
  // Of its positions, as far as rows of the block see any.
  __device__ __forceinline__ int count(int page) const { return last_position - page * kPage + 1; }

  std::byte* const* table;
  int64_t keys_offset, values_offset;
  int last_position;
  int first, last;
};

__device__ __forceinline__ SeenPositions SeenOf(const PromptAttendTask& task,
                                                const AttendedRows& rows) {
  SeenPositions seen;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int slot = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * r;
    seen.last[r] = rows.has(slot) ? rows.position(slot) : -1;
    seen.first[r] = task.window > 0 && task.window <= seen.last[r]
                        ? seen.last[r] - static_cast<int>(task.window) + 1
                        : 0;
  }
  return seen;
}

template <int kSize>
__device__ __forceinline__ void CopyPage(
    const PromptAttendTask& task, const AttendedPages& pages, int page,
    typename Attending<KvFormat::kF16, kSize>::Buffers& shared) {
  const int count = pages.count(page);
  const int run = page % 2 * 2;
  CopyHalves<KvFormat::kF16, kSize>(pages.keys(page), task.kv.key_size, count, shared.kv[run][0]);
  CopyHalves<KvFormat::kF16, kSize>(pages.values(page), task.kv.value_size, count,
                                    shared.kv[run + 1][0]);
}

template <int kSize>
__device__ __forceinline__ void AttendHalves(
    const PromptAttendTask& task, const AttendedPages& pages, const SeenPositions& seen,
    const float (&factor)[2], typename Attending<KvFormat::kF16, kSize>::Buffers& shared,
    AttendedSlots<kSize>& slots) {
  CopyPage<kSize>(task, pages, pages.first, shared);
  CloseCopies();
#pragma unroll 1
  for (int page = pages.first; page <= pages.last; ++page) {
    if (page < pages.last) CopyPage<kSize>(task, pages, page + 1, shared);
    CloseCopies();
    WaitForCopies<1>();
    __syncthreads();
    const int run = page % 2 * 2;
    float scores[kKeyTiles][4];
    Scores<KvFormat::kF16, kSize>(shared, shared.kv[run][0], scores);
    ToProbabilities(seen, page * kPage, factor, scores, slots);
    AddValues<KvFormat::kF16, kSize>(shared, shared.kv[run + 1][0], scores, slots.out);
    __syncthreads();
  }
}

template <KvFormat kFormat, int kSize>
__device__ __forceinline__ void AttendConverted(const PromptAttendTask& task,
                                                const AttendedPages& pages,
                                                const SeenPositions& seen, const float (&factor)[2],
                                                typename Attending<kFormat, kSize>::Buffers& shared,
                                                AttendedSlots<kSize>& slots) {
#pragma unroll 1
  for (int page = pages.first; page <= pages.last; ++page) {
    const int count = pages.count(page);
    ConvertRun<kFormat, kSize>(pages.keys(page), task.kv.key_size, count, shared);
    __syncthreads();
    float scores[kKeyTiles][4];
    Scores<kFormat, kSize>(shared, shared.kv[0][0], scores);
    ToProbabilities(seen, page * kPage, factor, scores, slots);
    __syncthreads();
    ConvertRun<kFormat, kSize>(pages.values(page), task.kv.value_size, count, shared);
    __syncthreads();
    AddValues<kFormat, kSize>(shared, shared.kv[0][0], scores, slots.out);
    __syncthreads();
  }
}

// `heads` heads of a row are in a block.
template <KvFormat kFormat, int kSize>
__global__ void __launch_bounds__(Attending<kFormat, kSize>::kThreads, 1)
    PromptAttend(const __grid_constant__ PromptAttendTask task, int heads) {
  using Way = Attending<kFormat, kSize>;
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<typename Way::Buffers*>(memory);
  WaitForPredecessor();
  ReleaseSuccessor();
  const AttendedRows rows = FindRows(task, heads, Way::kSlots / heads);
  if (rows.count <= 0) return;
  // Behind the last value of a head there are zeros for ever.
  for (int i = threadIdx.x; i < static_cast<int>(sizeof(shared.kv) / 16); i += Way::kThreads) {
    reinterpret_cast<uint4*>(shared.kv)[i] = make_uint4(0, 0, 0, 0);
  }
  StoreQueries<kFormat, kSize>(task, rows, shared);
  __syncthreads();
  float factor[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int slot = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * r;
    factor[r] = f32::Mul(shared.powers[slot], task.scale);
  }
  const AttendedPages pages(task, rows);
  const SeenPositions seen = SeenOf(task, rows);
  AttendedSlots<kSize> slots;
  if constexpr (Way::kHalves) {
    AttendHalves<kSize>(task, pages, seen, factor, shared, slots);
  } else {
    AttendConverted<kFormat, kSize>(task, pages, seen, factor, shared, slots);
  }
  StoreSlots(task, rows, slots);
}

template <KvFormat kFormat, int kSize>
PromptAttendKernel PromptAttendKernelOf() {
  using Way = Attending<kFormat, kSize>;
  return {PromptAttend<kFormat, kSize>, Way::kThreads, Way::kSlots, sizeof(typename Way::Buffers)};
}

// For heads of up to `size` values.
template <KvFormat kFormat>
PromptAttendKernel PromptAttendKernelFor(int size) {
  if (size <= 64) return PromptAttendKernelOf<kFormat, 64>();
  if (size <= 128) return PromptAttendKernelOf<kFormat, 128>();
  if (size <= 256) return PromptAttendKernelOf<kFormat, 256>();
  return {};
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_KERNEL_CUH_
