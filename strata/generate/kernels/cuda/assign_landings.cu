#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/kernels/cuda/assign_landings.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {
namespace {

constexpr int kWords = 32;  // Of a bit for each expert, one word a lane.
constexpr int kMaxExperts = 32 * kWords;

// Marks in `missed` the chosen experts that may land; returns their landing class, the same for all
// of a layer, or a negative number. Nothing has a place so far.
__device__ __forceinline__ int FindMisses(const AssignTask& task, uint32_t* missed) {
  const int lane = threadIdx.x;
  missed[lane] = 0;
  __syncwarp();
  unsigned mark = 0;
  for (int entry = lane; entry < task.rows * task.routing.num_chosen; entry += 32) {
    const auto choice = static_cast<unsigned>(__ldcg(task.routing.experts + entry));
    const int expert = static_cast<int>(min(choice, task.routing.num_experts - 1u));
    task.of_expert[expert] = -1;
    const uint64_t state =
        __ldcg(reinterpret_cast<const unsigned long long*>(&task.experts[expert].state));
    const unsigned own = LandingMarkOf(state);
    if (IsInSlot(state) || own == 0) continue;
    atomicOr(&missed[expert / 32], 1u << (expert % 32));
    mark = own;
  }
  __syncwarp();
  return static_cast<int>(__reduce_max_sync(kAllLanes, mark)) - 1;
}

// The sum of the values of lower lanes.
__device__ __forceinline__ int SumOfLower(int value) {
  int sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kAllLanes, sum, step);
    if (threadIdx.x >= static_cast<unsigned>(step)) sum += other;
  }
  return sum - value;
}

// One warp: a step has few choices, and the next kernel waits.
__global__ void __launch_bounds__(32) Assign(AssignTask task) {
  __shared__ uint32_t missed[kWords];
  WaitForPredecessor();
  ReleaseSuccessor();
  const int landing_class = FindMisses(task, missed);
  if (landing_class < 0) return;
  DeviceLandingGroup& group = task.groups[landing_class];
  const int num_left = NumOffersLeft(group, task.layer, task.head->first_layer);
  const int num_before = task.count->count;
  const int first_offer = group.group.first_offer + group.num_given;
  const int lane = threadIdx.x;
  uint32_t word = missed[lane];
  const int num_own = __popc(word);
  int rank = SumOfLower(num_own);
  const int num_missed = __shfl_sync(kAllLanes, rank + num_own, 31);
  for (; word != 0 && rank < num_left; word &= word - 1, ++rank) {
    const int expert = 32 * lane + __ffs(static_cast<int>(word)) - 1;
    task.of_expert[expert] = first_offer + rank;
    task.landings[num_before + rank] = {.expert = task.layer * task.routing.num_experts + expert,
                                        .slot = task.offers[first_offer + rank].slot};
  }
  __syncwarp();
  if (lane != 0) return;
  const int num_given = min(num_missed, num_left);
  group.num_given += num_given;
  task.count->count = num_before + num_given;
}

}  // namespace

absl::Status AssignLandings(const AssignTask& task, const KernelStream& stream) {
  CHECK(0 < task.routing.num_experts && task.routing.num_experts <= kMaxExperts)
      << task.routing.num_experts;
  return LaunchKernel("places for missed experts", Assign, {.block = 32}, stream, task);
}

}  // namespace strata
