// Shared memory of the attention kernels of prompts, the rows of a block, and how queries, keys and
// values come there as terms that tensor cores take.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_SHARED_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_SHARED_CUH_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/prompt_attend.h"
#include "strata/generate/kernels/cuda/prompt_mma.cuh"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/prompt_split.h"
#include "strata/generate/kernels/cuda/prompt_terms.cuh"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr int kPage = kKvPagePositions;
inline constexpr int kKeyTiles = kPage / 8;

// How a format meets tensor cores, for heads of up to kSize values.
template <KvFormat kFormat, int kSize>
struct Attending {
  static constexpr bool kHalves = kFormat == KvFormat::kF16;
  static constexpr bool kScaled = kFormat == KvFormat::kInt8;
  static constexpr int kTerms = kHalves ? 2 : 3;  // Of queries and probabilities.
  static constexpr int kKvTerms = kFormat == KvFormat::kF32 ? 3 : 1;
  static constexpr int kSlots = kSize > 128 ? 64 : 128;
  static constexpr int kThreads = 2 * kSlots;
  // Bytes of a row in shared memory: 8 rows of 16 bytes lie in different banks.
  static constexpr int kStride = 2 * kSize + 16;
  static constexpr int kRuns = kHalves ? 4 : 1;  // Keys and values, twice; or one after the other.

  struct alignas(16) Buffers {
    uint8_t queries[kTerms][kSlots * kStride];
    uint8_t kv[kRuns][kKvTerms][kPage * kStride];
    float scales[kScaled ? kSize / kKvScaleBlock : 1][kScaled ? kPage : 4];
    float powers[kSlots];  // That the scores of a slot are multiplied with.
  };
};

// The rows of a block: `count` of `run` from `first` on, each with `heads` heads from first_head on.
struct AttendedRows {
  PromptRun run;
  int first = 0;
  int count = 0;
  int first_head = 0;
  int heads = 1;

  __device__ __forceinline__ int row(int slot) const { return first + slot / heads; }
  __device__ __forceinline__ int head(int slot) const { return first_head + slot % heads; }
  __device__ __forceinline__ bool has(int slot) const { return slot / heads < count; }
  __device__ __forceinline__ int position(int slot) const { return run.first_position + row(slot); }
  __device__ __forceinline__ int64_t step_row(int slot) const {
    return int64_t{run.first_row} + row(slot);
  }
};

// The last rows, which have most to do, first.
__device__ __forceinline__ AttendedRows FindRows(const PromptAttendTask& task, int heads,
                                                 int rows_at_once) {
  AttendedRows found;
  found.heads = heads;
  found.first_head = blockIdx.y * heads;
  int tile = gridDim.x - 1 - blockIdx.x;
  for (int i = 0; i < task.runs.count; ++i) {
    const PromptRun& run = task.runs.runs[i];
    const int tiles = (run.num_rows + rows_at_once - 1) / rows_at_once;
    if (tile < tiles) {
      found.run = run;
      found.first = tile * rows_at_once;
      found.count = min(rows_at_once, run.num_rows - found.first);
      return found;
    }
    tile -= tiles;
  }
  return found;
}
// Queries of all slots to shared memory, in terms. A warp has one slot at a time, a lane 8 values.
template <KvFormat kFormat, int kSize>
__device__ __forceinline__ void StoreQueries(const PromptAttendTask& task, const AttendedRows& rows,
                                             typename Attending<kFormat, kSize>::Buffers& shared) {
  using Way = Attending<kFormat, kSize>;
  constexpr int kTermBytes = Way::kSlots * Way::kStride;
  const int key_size = task.kv.key_size;
  const int i = threadIdx.x % 32 * 8;
  for (int slot = threadIdx.x / 32; slot < Way::kSlots; slot += Way::kThreads / 32) {
    float values[8] = {};
    if (i < key_size && rows.has(slot)) {
      LoadEightFloats(
          task.queries + (rows.step_row(slot) * task.num_heads + rows.head(slot)) * key_size + i,
          values);
    }
    uint8_t* const to = &shared.queries[0][slot * Way::kStride + 2 * i];
    float power = 1.0f;
    if constexpr (Way::kHalves) {
      const PowerOfTwo powers = PowerFor(__reduce_max_sync(0xffffffffu, MaxMagnitudeBits(values)));
      power = powers.up;
      if (i < kSize) StoreHalves(values, powers.down, to, kTermBytes);
    } else if (i < kSize) {
      StoreBfloats(values, to, kTermBytes);
    }
    if (threadIdx.x % 32 == 0) shared.powers[slot] = power;
  }
}

// Half keys or values of a page, on their way; zeros for positions from `count` on, which may never
// have been written.
template <KvFormat kFormat, int kSize>
__device__ __forceinline__ void CopyHalves(const std::byte* run, int size, int count, uint8_t* to) {
  using Way = Attending<kFormat, kSize>;
  constexpr int kWords = kSize / 8;
#pragma unroll 4
  for (int i = threadIdx.x; i < kPage * kWords; i += Way::kThreads) {
    const int position = i / kWords;
    const int word = i % kWords;
    if (8 * word >= size) continue;
    const uint32_t shared = SharedAddress(to + position * Way::kStride + 16 * word);
    const std::byte* const from = run + (position * size + 8 * word) * 2;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(position < count ? 16 : 0)
                 : "memory");
  }
}

// The same for the other formats, by ordinary loads.
template <KvFormat kFormat, int kSize>
__device__ __forceinline__ void ConvertRun(const std::byte* run, int size, int count,
                                           typename Attending<kFormat, kSize>::Buffers& shared) {
  using Way = Attending<kFormat, kSize>;
  constexpr int kWords = kSize / 8;
  for (int i = threadIdx.x; i < kPage * kWords; i += Way::kThreads) {
    const int position = i / kWords;
    const int at = i % kWords * 8;
    const bool is_there = at < size && position < count;
    uint8_t* const to = &shared.kv[0][0][position * Way::kStride + 2 * at];
    float values[8] = {};
    if constexpr (kFormat == KvFormat::kF32) {
      if (is_there) {
        LoadEightFloats(reinterpret_cast<const float*>(run) + position * size + at, values);
      }
      StoreBfloats(values, to, kPage * Way::kStride);
    } else {
      uint16_t codes[8] = {};
      if (is_there) {
        const uint2 words = *reinterpret_cast<const uint2*>(run + position * size + at);
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const auto q = static_cast<int8_t>((k < 4 ? words.x : words.y) >> 8 * (k % 4));
          codes[k] = static_cast<uint16_t>(f32::Bits(f32::FromInt(q)) >> 16);
        }
      }
      StoreTerm(codes, to);
    }
  }
  if constexpr (Way::kScaled) {
    const auto* const scales = reinterpret_cast<const float*>(run + kPage * size);
    const int blocks = KvScalesOf(size);
    for (int i = threadIdx.x; i < kPage * (kSize / kKvScaleBlock); i += Way::kThreads) {
      const int position = i % kPage;
      const int block = i / kPage;
      shared.scales[block][position] =
          block < blocks && position < count ? scales[position * blocks + block] : 0.0f;
    }
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_SHARED_CUH_
