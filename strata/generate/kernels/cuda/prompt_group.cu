#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_group.h"

namespace strata {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / 32;
constexpr int kMaxExperts = 1024;
constexpr uint32_t kAllLanes = 0xffffffffu;

// The sum over a block, in every thread. Barriers for the block.
__device__ __forceinline__ int SumOverBlock(int value, int (&shared)[kWarps]) {
  const int sum = __reduce_add_sync(kAllLanes, value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  __syncthreads();
  return __reduce_add_sync(kAllLanes, shared[threadIdx.x % 32]);
}

// Entries of the warp's share that go to `expert`; `use` gets the number of each lane's entry, and
// how many of them come before it.
template <typename Use>
__device__ __forceinline__ int ForEntriesOf(const int32_t* experts, int begin, int end, int expert,
                                            Use use) {
  const int lane = threadIdx.x % 32;
  int count = 0;
  for (int i = begin; i < end; i += 32) {
    const int entry = i + lane;
    const bool is_own = entry < end && experts[entry] == expert;
    const uint32_t own = __ballot_sync(kAllLanes, is_own);
    if (is_own) use(entry, count + __popc(own & ((1u << lane) - 1)));
    count += __popc(own);
  }
  return count;
}

// A block for each expert, which counts for itself how much comes before.
__global__ void __launch_bounds__(kThreads)
    Group(int num_entries, DeviceRouting routing, PromptGroups groups) {
  __shared__ int counts[kMaxExperts];
  __shared__ int sums[kWarps];
  WaitForPredecessor();
  ReleaseSuccessor();
  const int expert = blockIdx.x;
  for (int i = threadIdx.x; i < routing.num_experts; i += kThreads) counts[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < num_entries; i += kThreads)
    atomicAdd(&counts[routing.experts[i]], 1);
  __syncthreads();
  const int size = groups.tile_entries;
  const int thread = threadIdx.x;
  const int own = thread < routing.num_experts ? counts[thread] : 0;
  const int own_tiles = (own + size - 1) / size;
  const int begin = SumOverBlock(thread < expert ? own : 0, sums);
  const int first_tile = SumOverBlock(thread < expert ? own_tiles : 0, sums);
  const int count = counts[expert];
  const int num_tiles = (count + size - 1) / size;
  for (int i = thread; i < num_tiles; i += kThreads) {
    groups.tiles[first_tile + i] = {expert, begin + i * size, min(size, count - i * size), 0};
  }
  if (expert == routing.num_experts - 1 && thread == 0) *groups.num_tiles = first_tile + num_tiles;

  // Warps have neighbouring shares of the entries, so that numbers ascend.
  const int share = (num_entries + kWarps - 1) / kWarps;
  const int warp = thread / 32;
  const int from = min(num_entries, warp * share);
  const int to = min(num_entries, from + share);
  const int in_share = ForEntriesOf(routing.experts, from, to, expert, [](int, int) {});
  __syncthreads();
  if (thread % 32 == 0) sums[warp] = in_share;
  __syncthreads();
  const int before = __reduce_add_sync(
      kAllLanes, thread % 32 < static_cast<unsigned>(warp) ? sums[thread % 32] : 0);
  ForEntriesOf(routing.experts, from, to, expert,
               [&](int entry, int number) { groups.entries[begin + before + number] = entry; });
}

}  // namespace

absl::Status GroupPromptRows(int rows, const DeviceRouting& routing, const PromptGroups& groups,
                             const KernelStream& stream) {
  CHECK(0 < rows) << rows;
  CHECK(0 < routing.num_experts && routing.num_experts <= kMaxExperts) << routing.num_experts;
  CHECK(groups.tile_entries == 64 || groups.tile_entries == 128) << groups.tile_entries;
  return LaunchKernel("groups of experts", Group, {.grid = routing.num_experts, .block = kThreads},
                      stream, rows * routing.num_chosen, routing, groups);
}

}  // namespace strata
