#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/fetch_experts.h"
#include "strata/generate/kernels/cuda/host_words.cuh"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_group.h"

namespace strata {
namespace {

constexpr int kThreads = 256;
// The link is slower than a few blocks, and other kernels want the multiprocessors.
constexpr int kBlocksPerExpert = 8;
constexpr int kExpertsAtOnce = 8;
constexpr int kInFlight = 8;  // Loads of a thread: the link is long.

// The share of this block of `count` values.
template <typename T, typename Load>
__device__ __forceinline__ void CopyShare(T* to, const T* from, int64_t count, Load load) {
  const int64_t stride = int64_t{kBlocksPerExpert} * kThreads;
  for (int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x; first < count;
       first += stride * kInFlight) {
    T values[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int64_t at = first + i * stride;
      if (at < count) values[i] = load(from + at);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int64_t at = first + i * stride;
      if (at < count) to[at] = values[i];
    }
  }
}

__device__ __forceinline__ void CopyPart(std::byte* to, const std::byte* from, int64_t bytes) {
  const auto odd = (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) |
                    static_cast<uintptr_t>(bytes)) %
                   sizeof(uint4);
  if (odd == 0) {
    CopyShare(reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4*>(from),
              bytes / static_cast<int64_t>(sizeof(uint4)), LoadHostWord);
  } else {
    CopyShare(reinterpret_cast<unsigned char*>(to), reinterpret_cast<const unsigned char*>(from),
              bytes, [](const unsigned char* at) { return *at; });
  }
}

__global__ __launch_bounds__(kThreads) void FetchExperts(ExpertFetch fetch) {
  const int num_tiles = *fetch.groups.num_tiles;
  for (int tile = static_cast<int>(blockIdx.y); tile < num_tiles; tile += kExpertsAtOnce) {
    const int expert = fetch.groups.tiles[tile].expert;
    // The first of an expert's tiles stands for all of them.
    if (tile > 0 && fetch.groups.tiles[tile - 1].expert == expert) continue;
    for (int part = fetch.first_part; part < fetch.first_part + fetch.num_parts; ++part) {
      const std::byte* const from = fetch.from[expert].parts[part];
      auto* const to = const_cast<std::byte*>(fetch.to[expert].parts[part]);
      if (from != nullptr && from != to) CopyPart(to, from, fetch.part_bytes[part]);
    }
  }
}

}  // namespace

absl::Status LaunchExpertFetch(const ExpertFetch& fetch, const KernelStream& stream) {
  return LaunchKernel("the experts that a prompt chose", FetchExperts,
                      {.grid = dim3(kBlocksPerExpert, kExpertsAtOnce), .block = dim3(kThreads)},
                      KernelStream{.stream = stream.stream}, fetch);
}

}  // namespace strata
