// A router's choice by one block of threads, with the bits of kernels/router.h.
#ifndef STRATA_GENERATE_KERNELS_CUDA_CHOOSE_EXPERTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_CHOOSE_EXPERTS_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/residual_row.h"
#include "strata/generate/kernels/cuda/route_rows.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr float kSmallestWeightSum = 0x1p-14f;

// What one logit becomes on its own; the softmax over all is not of this kind.
STRATA_NUMERIC float GateAlone(Gating gating, float logit) {
  if (gating == Gating::kSigmoid) return f32::Sigmoid(logit);
  if (gating == Gating::kSqrtSoftplus) return f32::Sqrt(f32::Softplus(logit));
  return logit;
}

// What experts are ranked by as integers: never 0, and the same for both zeros.
STRATA_NUMERIC uint32_t RankingKey(float score) {
  const uint32_t key = OrderedBits(f32::Add(score, 0.0f));
  return key == 0 ? 1 : key;
}

#ifdef __CUDACC__

// Of one row, in shared memory.
struct alignas(16) RoutingScratch {
  float logits[kMaxRoutedExperts];
  float probabilities[kMaxRoutedExperts];
  float scores[kMaxRoutedExperts];
  float group_scores[kMaxRoutedExperts];
  uint32_t warp_max[kRowThreads / 32];
  float accumulators[kRowThreads];
};

// The softmax of kernels/softmax.h over all experts.
__device__ __forceinline__ void SoftmaxOfAll(int num_experts, RoutingScratch& scratch) {
  uint32_t max = 0;
  for (int e = threadIdx.x; e < num_experts; e += kRowThreads) {
    const uint32_t key = OrderedBits(scratch.logits[e]);
    max = key > max ? key : max;
  }
  max = __reduce_max_sync(kAllLanes, max);
  if (threadIdx.x % 32 == 0) scratch.warp_max[threadIdx.x / 32] = max;
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < kRowThreads / 32; ++warp) {
    max = scratch.warp_max[warp] > max ? scratch.warp_max[warp] : max;
  }
  const float greatest = FromOrderedBits(max);
  float sum = 0.0f;
  for (int e = threadIdx.x; e < num_experts; e += kRowThreads) {
    const float value = f32::Exp(f32::Sub(scratch.logits[e], greatest));
    scratch.probabilities[e] = value;
    sum = f32::Add(sum, value);
  }
  sum = FoldBlock(sum, scratch.accumulators);
  for (int e = threadIdx.x; e < num_experts; e += kRowThreads) {
    scratch.probabilities[e] = f32::Div(scratch.probabilities[e], sum);
  }
}

// The two best scores of a group, added.
__device__ __forceinline__ float ScoreOfGroup(const float* scores, int group_size) {
  float best = scores[0];
  float second = group_size > 1 ? scores[1] : 0.0f;
  if (group_size > 1 && second > best) {
    best = scores[1];
    second = scores[0];
  }
  for (int i = 2; i < group_size; ++i) {
    if (scores[i] > best) {
      second = best;
      best = scores[i];
    } else if (scores[i] > second) {
      second = scores[i];
    }
  }
  return f32::Add(best, second);
}

// Scores of experts outside the best groups become -infinity. Barriers for the block.
__device__ __forceinline__ void KeepBestGroups(const DeviceRouter& router,
                                               RoutingScratch& scratch) {
  const int group_size = router.num_experts / router.num_groups;
  __syncthreads();
  for (int g = threadIdx.x; g < router.num_groups; g += kRowThreads) {
    scratch.group_scores[g] = ScoreOfGroup(scratch.scores + g * group_size, group_size);
  }
  __syncthreads();
  for (int g = threadIdx.x; g < router.num_groups; g += kRowThreads) {
    const float score = scratch.group_scores[g];
    int num_better = 0;
    for (int other = 0; other < router.num_groups; ++other) {
      const float rival = scratch.group_scores[other];
      num_better += rival > score || (rival == score && other < g) ? 1 : 0;
    }
    if (num_better < router.num_groups_used) continue;
    for (int i = 0; i < group_size; ++i) {
      scratch.scores[g * group_size + i] = f32::FromBits(0xff800000u);
    }
  }
}

// Lane `rank` of the calling warp gets the expert of that rank. kPerLane * 32 experts at most.
template <int kPerLane>
__device__ __forceinline__ int RankBest(const float* scores, int num_experts, int num_chosen) {
  static_assert(kPerLane % 4 == 0);
  const int lane = threadIdx.x % 32;
  // Neighbours, so that among equal ones the lowest lane has the lowest index.
  uint32_t keys[kPerLane];
#pragma unroll
  for (int j = 0; j < kPerLane; j += 4) {
    const int e = lane * kPerLane + j;
    const float4 four = *reinterpret_cast<const float4*>(scores + e);
    keys[j] = e < num_experts ? RankingKey(four.x) : 0;
    keys[j + 1] = e + 1 < num_experts ? RankingKey(four.y) : 0;
    keys[j + 2] = e + 2 < num_experts ? RankingKey(four.z) : 0;
    keys[j + 3] = e + 3 < num_experts ? RankingKey(four.w) : 0;
  }
  int chosen = 0;
  for (int rank = 0; rank < num_chosen; ++rank) {
    uint32_t own = 0;
    int own_index = 0;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      if (keys[j] <= own) continue;
      own = keys[j];
      own_index = lane * kPerLane + j;
    }
    const uint32_t best = __reduce_max_sync(kAllLanes, own);
    const int winner = __ffs(static_cast<int>(__ballot_sync(kAllLanes, own == best))) - 1;
    const int index = __shfl_sync(kAllLanes, own_index, winner);
    if (lane == rank) chosen = index;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      if (lane == winner && own_index == lane * kPerLane + j) keys[j] = 0;
    }
  }
  return chosen;
}

// In the order of rank, in every lane; a lane below num_chosen holds that rank's weight.
__device__ __forceinline__ float SumByRank(float weight, int num_chosen) {
  constexpr int kAtOnce = 8;
  float sum = 0.0f;
  for (int first = 0; first < num_chosen; first += kAtOnce) {
    float weights[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) weights[k] = __shfl_sync(kAllLanes, weight, first + k);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k < num_chosen) sum = f32::Add(sum, weights[k]);
    }
  }
  return sum;
}

// The weight of lane rank's expert.
__device__ __forceinline__ float WeightOfChosen(const DeviceRouter& router,
                                                const RoutingScratch& scratch, int expert) {
  const int num_chosen = router.num_chosen;
  const bool is_chosen = threadIdx.x % 32 < static_cast<unsigned>(num_chosen);
  float weight = scratch.probabilities[expert];
  if (router.gating == Gating::kSoftmaxOfChosen) {
    const float logit = scratch.logits[expert];
    const uint32_t max = __reduce_max_sync(kAllLanes, is_chosen ? OrderedBits(logit) : 0);
    weight = f32::Exp(f32::Sub(logit, FromOrderedBits(max)));
    weight = f32::Div(weight, SumByRank(weight, num_chosen));
  }
  if (router.normalize) {
    const float sum = SumByRank(weight, num_chosen);
    weight = f32::Div(weight, sum < kSmallestWeightSum ? kSmallestWeightSum : sum);
  }
  const bool scales = router.scale != 0.0f && router.scale != 1.0f;
  return scales ? f32::Mul(weight, router.scale) : weight;
}

// The choice of a row whose logits are in scratch.logits, stored by that thread which reads them
// here: i % kRowThreads. For a block of kRowThreads.
__device__ __forceinline__ void ChooseExperts(const DeviceRouter& router, RoutingScratch& scratch,
                                              int32_t* experts, float* weights) {
  if (router.gating == Gating::kSoftmax) {
    SoftmaxOfAll(router.num_experts, scratch);
  } else {
    for (int e = threadIdx.x; e < router.num_experts; e += kRowThreads) {
      scratch.probabilities[e] = GateAlone(router.gating, scratch.logits[e]);
    }
  }
  for (int e = threadIdx.x; e < router.num_experts; e += kRowThreads) {
    const float probability = scratch.probabilities[e];
    scratch.scores[e] = router.selection_bias == nullptr
                            ? probability
                            : f32::Add(probability, router.selection_bias[e]);
  }
  if (router.num_groups > 1) KeepBestGroups(router, scratch);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const int num_experts = router.num_experts;
  const int expert =
      num_experts <= 128   ? RankBest<4>(scratch.scores, num_experts, router.num_chosen)
      : num_experts <= 256 ? RankBest<8>(scratch.scores, num_experts, router.num_chosen)
      : num_experts <= 512 ? RankBest<16>(scratch.scores, num_experts, router.num_chosen)
                           : RankBest<32>(scratch.scores, num_experts, router.num_chosen);
  const float weight = WeightOfChosen(router, scratch, expert);
  if (threadIdx.x >= static_cast<unsigned>(router.num_chosen)) return;
  experts[threadIdx.x] = expert;
  weights[threadIdx.x] = weight;
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_CHOOSE_EXPERTS_H_
