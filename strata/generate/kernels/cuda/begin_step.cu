#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/kernels/cuda/begin_step.h"
#include "strata/generate/kernels/cuda/block_element.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kThreads = 256;

// Host memory is read once, never from a cache, and not before the wait.
__device__ __forceinline__ uint4 LoadFromHost(const void* from) {
  uint4 x;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "l"(from)
               : "memory");
  return x;
}
__device__ __forceinline__ int LoadIntFromHost(const int32_t* from) {
  int x;
  asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(x) : "l"(from) : "memory");
  return x;
}

// Whole words of 16 bytes that are brought from host memory.
struct HostRun {
  const std::byte* from;
  void* to;
  int words;
};

// By the block. Reading host memory takes microseconds, however little it is, so all is asked for
// before anything is stored.
template <int kRuns>
__device__ __forceinline__ void CopyFromHost(const HostRun (&runs)[kRuns]) {
  constexpr int kAtOnce = 4;
  int total = 0;
#pragma unroll
  for (int r = 0; r < kRuns; ++r) total += runs[r].words;
  for (int begin = threadIdx.x; begin < total; begin += kAtOnce * kThreads) {
    uint4 words[kAtOnce];
    uint4* to[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      int i = begin + k * kThreads;
      to[k] = nullptr;
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        if (0 <= i && i < runs[r].words) {
          words[k] = LoadFromHost(runs[r].from + 16 * i);
          to[k] = static_cast<uint4*>(runs[r].to) + i;
        }
        i -= runs[r].words;
      }
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (to[k] != nullptr) *to[k] = words[k];
    }
  }
}

// The step, of each rotation the angles of its rows, and what may land.
__device__ __forceinline__ void CopyStep(const BeginStepTask& task, const std::byte* block,
                                         int index) {
  constexpr int kMaxRotations = StepBlockLayout::kMaxRotations;
  const int rows = min(task.num_rows - index * kMaxRows, kMaxRows);
  HostRun runs[2 + kMaxRotations];
  runs[0] = {block, task.step + index, static_cast<int>(sizeof(DeviceStep) / 16)};
#pragma unroll
  for (int r = 0; r < kMaxRotations; ++r) {
    const bool is_there = r < task.layout.num_rotations;
    const int64_t offset = is_there ? task.layout.rotation_offset(r) : 0;
    const int words = is_there ? (rows * task.layout.rotation_dims[r] + 3) / 4 : 0;
    runs[1 + r] = {block + StepBlockLayout::rotary_bytes_offset() + offset * sizeof(float),
                   task.rotary + offset, words};
  }
  runs[1 + kMaxRotations] = {block + task.layout.landings_offset(), task.landings,
                             static_cast<int>(task.layout.landings_bytes() / 16)};
  CopyFromHost(runs);
}

struct PatchCounts {
  int pages;
  int experts;
};

__device__ __forceinline__ PatchCounts CountPatches(const std::byte* block) {
  const auto* const step = reinterpret_cast<const DeviceStep*>(block);
  return {LoadIntFromHost(&step->num_page_patches), LoadIntFromHost(&step->num_expert_patches)};
}

__device__ __forceinline__ void ApplyPatches(const BeginStepTask& task, const std::byte* block,
                                             const PatchCounts& counts) {
  const StepBlockLayout& layout = task.layout;
  const int num_pages = min(counts.pages, layout.max_page_patches);
  const std::byte* const page_patches = block + layout.page_patches_offset();
  for (int i = threadIdx.x; i < num_pages; i += kThreads) {
    const uint4 patch = LoadFromHost(page_patches + i * sizeof(PagePatch));
    const int64_t index = static_cast<int64_t>(patch.x | static_cast<uint64_t>(patch.y) << 32);
    const uint64_t address = patch.z | static_cast<uint64_t>(patch.w) << 32;
    task.page_table[index] = reinterpret_cast<std::byte*>(address);
  }
  if (task.expert_table == nullptr) return;
  const int num_experts = min(counts.experts, layout.max_expert_patches);
  const std::byte* const expert_patches = block + layout.expert_patches_offset();
  for (int i = threadIdx.x; i < num_experts; i += kThreads) {
    const std::byte* const patch = expert_patches + i * sizeof(ExpertPatch);
    const uint4 head = LoadFromHost(patch);
    const uint4 first = LoadFromHost(patch + 16);
    const uint4 second = LoadFromHost(patch + 32);
    const int64_t index = static_cast<int64_t>(head.x | static_cast<uint64_t>(head.y) << 32);
    auto* const entry = reinterpret_cast<uint4*>(task.expert_table + index * sizeof(head) * 2);
    entry[0] = first;
    entry[1] = second;
  }
}

__device__ __forceinline__ const std::byte* BlockOf(const BeginStepTask& task, int index) {
  return task.block + index * task.layout.bytes();
}

__device__ __forceinline__ int64_t TokenOf(const BeginStepTask& task, int row) {
  const auto* const step = reinterpret_cast<const DeviceStep*>(BlockOf(task, row / kMaxRows));
  const auto* const place = &step->rows[row % kMaxRows];
  const int drawn_of = LoadIntFromHost(&place->drawn_of);
  const int given = LoadIntFromHost(&place->token);  // Asked for together.
  const int token = drawn_of >= 0 ? task.drawn[drawn_of] : given;
  return 0 <= token && token < task.embedding.rows ? token : 0;
}

// The bytes of a token's row come to shared memory in whole words, however they lie, and are
// decoded there.
__device__ __forceinline__ void EmbedRow(const BeginStepTask& task, const ElementFormat& format,
                                         int row, uint4* shared) {
  const DeviceEmbedding& embedding = task.embedding;
  const int64_t row_bytes = embedding.columns / format.block_weights * format.block_bytes;
  const std::byte* const from = embedding.data + TokenOf(task, row) * row_bytes;
  const int skipped = static_cast<int>(reinterpret_cast<uintptr_t>(from) % 16);
  const int num_words = static_cast<int>((skipped + row_bytes + 15) / 16);
#pragma unroll 4
  for (int i = threadIdx.x; i < num_words; i += kThreads) {
    shared[i] = LoadFromHost(from - skipped + 16 * i);
  }
  __syncthreads();
  const auto* const bytes = reinterpret_cast<const uint8_t*>(shared) + skipped;
  float* const to = task.x + int64_t{row} * embedding.columns;
  for (int64_t i = threadIdx.x; i < embedding.columns; i += kThreads) {
    const float value = DecodeElement(*embedding.tables, format, bytes, i);
    to[i] = embedding.scale == 1.0f ? value : f32::Mul(embedding.scale, value);
  }
}

// A block of threads a row, and one for the rest of each of the step's blocks.
__global__ void __launch_bounds__(kThreads) Begin(BeginStepTask task, ElementFormat format) {
  extern __shared__ uint4 shared[];
  WaitForPredecessor();
  ReleaseSuccessor();
  const int index = static_cast<int>(blockIdx.x) - task.num_rows;
  if (index < 0) return EmbedRow(task, format, blockIdx.x, shared);
  const std::byte* const block = BlockOf(task, index);
  const PatchCounts counts = CountPatches(block);
  CopyStep(task, block, index);
  ApplyPatches(task, block, counts);
  if (index != 0 || threadIdx.x != 0) return;
  *task.fault_word = kNoFault;
  if (task.landed != nullptr) task.landed->count = 0;
}

}  // namespace

absl::Status BeginStep(const BeginStepTask& task, const KernelStream& stream) {
  CHECK(0 < task.num_rows && (task.num_rows <= kMaxRows || task.layout.num_rotations == 0))
      << task.num_rows;
  const BlockTypeInfo& info = InfoOf(task.embedding.type);
  if (!ActivationFormOf(info.type).has_value()) {
    return absl::UnimplementedError(absl::StrCat("embeddings of type ", info.name));
  }
  CHECK_EQ(task.embedding.columns % info.block_weights, 0);
  for (int i = 0; i < task.layout.num_rotations; ++i) {
    CHECK_EQ(task.layout.rotation_dims[i] % 2, 0);
  }
  const int num_blocks = (task.num_rows + kMaxRows - 1) / kMaxRows;
  const ElementFormat format = {info.type, info.block_weights, info.block_bytes};
  const int64_t row_bytes = task.embedding.columns / info.block_weights * info.block_bytes;
  const size_t shared_bytes = (row_bytes + 15 + 15) / 16 * 16;
  RETURN_IF_ERROR(AllowSharedBytes("beginning of a step", Begin, shared_bytes));
  return LaunchKernel("beginning of a step", Begin,
                      {.grid = static_cast<unsigned>(task.num_rows + num_blocks),
                       .block = kThreads,
                       .shared_bytes = shared_bytes},
                      stream, task, format);
}

}  // namespace strata
