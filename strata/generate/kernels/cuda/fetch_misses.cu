#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/fetch_misses.h"
#include "strata/generate/kernels/cuda/host_words.cuh"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 64;   // The link is slower than these.
constexpr int kInFlight = 8;  // Loads of a thread: the link is long.
constexpr int kWords = 32;    // Of a bit for each expert.
constexpr int kMaxExperts = 32 * kWords;
constexpr int kMaxChoices = kMaxRows * kMaxChosenExperts;
constexpr int kOwn = kMaxChoices / kThreads;  // Choices of a thread.
constexpr int64_t kPartAlignment = 256;

struct PartAddresses {
  uint64_t parts[3];
};

// What a block knows of the layer's misses.
struct Scratch {
  uint32_t chosen[kWords];  // A bit for each expert.
  uint32_t missed[kWords];
  uint32_t wanted[kWords];                           // Those that may land.
  unsigned landing_mark;                             // Of those.
  int num_offers;                                    // For them.
  PartAddresses from[kMaxChoices], to[kMaxChoices];  // By number of the miss; to 0 stays.
};

// The sizes of a blob's parts in words of 16 bytes.
struct BlobWords {
  int begins[3];  // Of the part, among the words of a blob.
  int all;
  int64_t offsets[3];  // Of the part in memory, in bytes.
  int64_t stride;      // From one blob to the next.
};

struct Choice {
  int expert;
  bool is_own;  // No other thread has it.
  PartAddresses at;
  bool is_missed;
  uint64_t state;
};

__device__ __forceinline__ int CountBelow(const uint32_t (&bits)[kWords], int expert) {
  int count = __popc(bits[expert / 32] & ((1u << (expert % 32)) - 1u));
  for (int word = 0; word < expert / 32; ++word) count += __popc(bits[word]);
  return count;
}

__device__ __forceinline__ int CountAll(const uint32_t (&bits)[kWords]) {
  int count = 0;
  for (int word = 0; word < kWords; ++word) count += __popc(bits[word]);
  return count;
}

// The choice of that number; marks what it is. One thread has each expert that was chosen.
__device__ __forceinline__ Choice LookUp(const FetchTask& task, int number, Scratch& scratch) {
  Choice choice;
  const auto index = static_cast<unsigned>(__ldcg(task.routing.experts + number));
  choice.expert = static_cast<int>(min(index, task.routing.num_experts - 1u));
  const uint32_t bit = 1u << (choice.expert % 32);
  choice.is_own = (atomicOr(&scratch.chosen[choice.expert / 32], bit) & bit) == 0;
  choice.is_missed = false;
  if (!choice.is_own) return choice;
  const auto* const words = reinterpret_cast<const ulonglong2*>(task.experts + choice.expert);
  const ulonglong2 low = __ldcg(words), high = __ldcg(words + 1);
  choice.at = {{low.x, low.y, high.x}};
  choice.state = high.y;
  const auto form = static_cast<EntryForm>(high.y >> 32 & 0xff);
  const auto mark = static_cast<unsigned>(high.y >> 40 & 0xff);
  if (form == EntryForm::kSlot) return choice;
  choice.is_missed = true;
  atomicOr(&scratch.missed[choice.expert / 32], bit);
  if (mark == 0 || task.head == nullptr) return choice;
  atomicOr(&scratch.wanted[choice.expert / 32], bit);
  atomicMax(&scratch.landing_mark, mark);
  return choice;
}

__device__ __forceinline__ int NumGiven(const FetchTask& task, int group) {
  return __ldcg(&task.groups[group].num_given[task.layer % 2]);
}

// How many of the wanted ones land; the same in all blocks. By one thread.
__device__ __forceinline__ int CountOffers(const FetchTask& task, unsigned mark) {
  if (mark == 0) return 0;
  const int group = static_cast<int>(mark) - 1;
  return NumOffersLeft(task.groups[group].group, NumGiven(task, group), task.layer,
                       task.head->first_layer);
}

// By the first block: what is given out is so for the next layer.
__device__ __forceinline__ void PassOn(const FetchTask& task, const Scratch& scratch) {
  const int num_landed = min(CountAll(scratch.wanted), scratch.num_offers);
  for (int group = threadIdx.x; group < task.num_groups; group += kThreads) {
    const bool is_own = group + 1 == static_cast<int>(scratch.landing_mark);
    task.groups[group].num_given[(task.layer + 1) % 2] =
        static_cast<int16_t>(NumGiven(task, group) + (is_own ? num_landed : 0));
  }
  if (threadIdx.x == 0) task.count->count += num_landed;
}

// Where the parts of a missed expert come to; it stays where it is when there is no room. `landing` is
// its number among those that land, or negative.
__device__ __forceinline__ PartAddresses Destination(const FetchTask& task, const BlobWords& blob,
                                                     const Scratch& scratch, const Choice& choice,
                                                     int landing, int offer) {
  PartAddresses to = choice.at;
  if (landing >= 0) {
    const auto* const parts = reinterpret_cast<const unsigned long long*>(task.offers + offer);
    for (int part = 0; part < task.num_parts; ++part) to.parts[part] = __ldcg(parts + part);
    return to;
  }
  if (task.leaves_rest) return to;
  const int num_landed_below = min(CountBelow(scratch.wanted, choice.expert), scratch.num_offers);
  const int place = CountBelow(scratch.missed, choice.expert) - num_landed_below;
  if ((place + 1) * blob.stride > task.memory_bytes) return to;
  for (int part = 0; part < task.num_parts; ++part) {
    to.parts[part] =
        reinterpret_cast<uint64_t>(task.memory) + place * blob.stride + blob.offsets[part];
  }
  return to;
}

// What becomes of one choice, for all to see.
__device__ __forceinline__ void Settle(const FetchTask& task, const BlobWords& blob,
                                       const Choice& choice, int num_before, Scratch& scratch) {
  PartAddresses to = choice.at;
  uint64_t state = 0;  // In a slot, or as good as that.
  if (choice.is_missed) {
    const bool is_wanted = (scratch.wanted[choice.expert / 32] >> (choice.expert % 32) & 1u) != 0;
    const int rank = is_wanted ? CountBelow(scratch.wanted, choice.expert) : scratch.num_offers;
    const bool lands = rank < scratch.num_offers;
    int offer = 0;
    if (lands) {
      const int group = static_cast<int>(scratch.landing_mark) - 1;
      offer = task.groups[group].group.first_offer + NumGiven(task, group) + rank;
    }
    to = Destination(task, blob, scratch, choice, lands ? rank : -1, offer);
    if (!lands && task.leaves_rest) state = choice.state;
    const int number = CountBelow(scratch.missed, choice.expert);
    scratch.from[number] = choice.at;
    scratch.to[number] = to;
    if (to.parts[0] == choice.at.parts[0]) scratch.to[number].parts[0] = 0;
    if (lands && blockIdx.x == 0) {
      task.landings[num_before + rank] = {
          .expert = task.layer * task.routing.num_experts + choice.expert,
          .slot = __ldcg(&task.offers[offer].slot)};
    }
  }
  if (blockIdx.x != 0) return;
  auto* const found = reinterpret_cast<ulonglong2*>(task.found + choice.expert);
  found[0] = {to.parts[0], to.parts[1]};
  found[1] = {to.parts[2], state};
}

__device__ __forceinline__ void CopyMisses(const BlobWords& blob, const Scratch& scratch,
                                           int num_missed) {
  const int total = num_missed * blob.all;
  constexpr int kStride = kBlocks * kThreads;
  for (int first = blockIdx.x * kThreads + threadIdx.x; first < total;
       first += kStride * kInFlight) {
    uint4 words[kInFlight];
    uint4* to[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int at = first + i * kStride;
      to[i] = nullptr;
      if (at >= total) continue;
      const int miss = at / blob.all;
      const int word = at - miss * blob.all;
      if (scratch.to[miss].parts[0] == 0) continue;
      const int part = (word >= blob.begins[1] ? 1 : 0) + (word >= blob.begins[2] ? 1 : 0);
      const int64_t offset = int64_t{word - blob.begins[part]} * sizeof(uint4);
      words[i] =
          LoadHostWord(reinterpret_cast<const uint4*>(scratch.from[miss].parts[part] + offset));
      to[i] = reinterpret_cast<uint4*>(scratch.to[miss].parts[part] + offset);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (to[i] != nullptr) *to[i] = words[i];
    }
  }
}

// Every block finds out for itself what is missed, and copies its share.
__global__ void __launch_bounds__(kThreads) Fetch(FetchTask task, BlobWords blob) {
  __shared__ Scratch scratch;
  if (threadIdx.x < kWords) {
    scratch.chosen[threadIdx.x] = scratch.missed[threadIdx.x] = scratch.wanted[threadIdx.x] = 0;
  }
  if (threadIdx.x == 0) scratch.landing_mark = 0;
  __syncthreads();
  WaitForPredecessor();
  ReleaseSuccessor();
  Choice choices[kOwn];
  const int num_choices = task.rows * task.routing.num_chosen;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int number = threadIdx.x + i * kThreads;
    choices[i].is_own = false;
    if (number < num_choices) choices[i] = LookUp(task, number, scratch);
  }
  // Before the first block changes it.
  const int num_before = blockIdx.x == 0 && task.count != nullptr ? task.count->count : 0;
  __syncthreads();
  if (threadIdx.x == 0) scratch.num_offers = CountOffers(task, scratch.landing_mark);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (choices[i].is_own) Settle(task, blob, choices[i], num_before, scratch);
  }
  if (blockIdx.x == 0 && task.head != nullptr) PassOn(task, scratch);
  __syncthreads();
  CopyMisses(blob, scratch, CountAll(scratch.missed));
}

BlobWords WordsOf(const FetchTask& task) {
  constexpr int64_t kWordBytes = sizeof(uint4);
  BlobWords blob = {};
  int64_t words = 0;
  for (int part = 0; part < 3; ++part) {
    blob.begins[part] = static_cast<int>(words);
    blob.offsets[part] = blob.stride;
    if (part >= task.num_parts) continue;
    words += (task.part_bytes[part] + kWordBytes - 1) / kWordBytes;
    blob.stride += (task.part_bytes[part] + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
  }
  blob.all = static_cast<int>(words);
  return blob;
}

}  // namespace

absl::Status FetchMisses(const FetchTask& task, const KernelStream& stream) {
  const DeviceRouting& routing = task.routing;
  CHECK(0 < task.rows && task.rows <= kMaxRows) << task.rows;
  CHECK(0 < routing.num_experts && routing.num_experts <= kMaxExperts) << routing.num_experts;
  CHECK(0 < routing.num_chosen && routing.num_chosen <= kMaxChosenExperts) << routing.num_chosen;
  const BlobWords blob = WordsOf(task);
  const int64_t most =
      std::min(int64_t{task.rows} * routing.num_chosen, static_cast<int64_t>(routing.num_experts));
  CHECK_LE(most * blob.all, INT32_MAX);
  return LaunchKernel("the experts that a step misses", Fetch, {.grid = kBlocks, .block = kThreads},
                      stream, task, blob);
}

}  // namespace strata
