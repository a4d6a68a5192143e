#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/attend_rows.h"
#include "strata/generate/kernels/cuda/attention_row.h"
#include "strata/generate/kernels/cuda/chain_tiles.h"
#include "strata/generate/kernels/cuda/join_tiles.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/tensor_tiles.h"

namespace strata {
namespace {

constexpr int kMaxTensorHeadSize = 128;

__device__ __forceinline__ void PrefetchBytes(const std::byte* data, int64_t bytes) {
  constexpr int kLineBytes = 128;
  for (int64_t i = threadIdx.x * kLineBytes; i < bytes; i += kAttentionThreads * kLineBytes) {
    PrefetchToL2(data + i);
  }
}

// The pages of the first positions that a block will see. Nothing is read of them here: a line that
// another kernel is still writing to is as good in L2 as elsewhere.
__device__ __forceinline__ void PrefetchFirstPages(const AttendTask& task) {
  const AttentionRow work = AttentionRowOf(task, blockIdx.z, blockIdx.y);
  if (static_cast<int>(blockIdx.x) >= work.tiles.count) return;
  const KvLayer& kv = task.kv;
  const int tile_begin = (work.tiles.first_tile + static_cast<int>(blockIdx.x))
                         << work.tiles.size_bits;
  const int first_page = max(tile_begin, work.tiles.first) / kKvPagePositions;
  const int last_page =
      min(first_page + kAttentionRun / kKvPagePositions - 1, work.position / kKvPagePositions);
  for (int page = first_page; page <= last_page; ++page) {
    const std::byte* const data = task.page_table[work.first_page + page];
    PrefetchBytes(data + kv.keys_offset(work.heads.kv_head), KvRunBytes(kv.format, kv.key_size));
    PrefetchBytes(data + kv.values_offset(work.heads.kv_head),
                  KvRunBytes(kv.format, kv.value_size));
  }
}

// Block (i, chunk, row) computes tiles i, i + gridDim.x, ... of a chunk of heads of a row.
template <typename Tiles>
__global__ void __launch_bounds__(kAttentionThreads) Attend(AttendTask task) {
  extern __shared__ float4 shared_words[];
  auto* const shared = reinterpret_cast<float*>(shared_words);
  if (task.prefetches) PrefetchFirstPages(task);
  WaitForPredecessor();
  ReleaseSuccessor();
  const AttentionRow work = AttentionRowOf(task, blockIdx.z, blockIdx.y);
  if (static_cast<int>(blockIdx.x) >= work.tiles.count) return;
  {
    Tiles tiles(task, work, shared);
    tiles.Run(blockIdx.x, gridDim.x);
  }
  const int num_blocks = min(static_cast<int>(gridDim.x), work.tiles.count);
  uint32_t* const tickets = task.tickets + work.row * (work.num_chunks + 1);
  // A block that did all tiles itself needs no ticket.
  if (num_blocks == 1) {
    __syncthreads();
  } else if (!IsLastBlock(&tickets[1 + work.chunk], num_blocks)) {
    return;
  }
  JoinTiles(task, work, shared);
  __syncthreads();
  const bool in_all_forms = ChunksStoreForms(task);
  StoreChunk(task, work, in_all_forms, shared);
  if (in_all_forms || !IsLastBlock(&tickets[0], work.num_chunks)) return;
  StoreRowForms(task, work.row);
}

template <typename Tiles>
absl::Status Launch(const AttendTask& task, size_t tile_bytes, const KernelStream& stream) {
  const int num_chunks = NumHeadChunks(task.num_heads, task.kv.num_heads);
  const size_t shared_bytes = std::max(tile_bytes, JoinSharedBytes(task.kv.value_size));
  RETURN_IF_ERROR(AllowSharedBytes("attention", Attend<Tiles>, shared_bytes));
  ASSIGN_OR_RETURN(const int num_multiprocessors, NumMultiprocessors());
  // A block takes most of a multiprocessor; one more than there are would run after all others.
  const int num_blocks =
      std::clamp(num_multiprocessors / (num_chunks * task.num_rows), 1, kMaxAttentionTiles);
  return LaunchKernel("attention", Attend<Tiles>,
                      {.grid = dim3(num_blocks, num_chunks, task.num_rows),
                       .block = kAttentionThreads,
                       .shared_bytes = shared_bytes},
                      stream, task);
}

absl::Status LaunchChains(const AttendTask& task, const KernelStream& stream) {
  const size_t bytes = ChainSharedBytes(task.kv.key_size, task.kv.value_size);
  if (task.kv.format == KvFormat::kF32) {
    return Launch<ChainTiles<KvFormat::kF32>>(task, bytes, stream);
  }
  if (task.kv.format == KvFormat::kF16) {
    return Launch<ChainTiles<KvFormat::kF16>>(task, bytes, stream);
  }
  return Launch<ChainTiles<KvFormat::kInt8>>(task, bytes, stream);
}

void CheckSize(int size) { CHECK(0 < size && size <= kMaxChainHeadSize && size % 8 == 0) << size; }

}  // namespace

int64_t AttentionPartialFloats(int num_rows, int num_heads, const KvLayer& kv) {
  const int num_chunks = NumHeadChunks(num_heads, kv.num_heads);
  return int64_t{num_rows} * num_chunks * kMaxAttentionTiles * kAttentionHeads *
         (2 + kv.value_size);
}

int64_t AttentionTickets(int num_rows, int num_heads, const KvLayer& kv) {
  return int64_t{num_rows} * (NumHeadChunks(num_heads, kv.num_heads) + 1);
}

absl::Status AttendRows(const AttendTask& task, const KernelStream& stream) {
  CHECK(0 < task.num_rows && task.num_rows <= kMaxRows) << task.num_rows;
  CHECK(task.kv.num_heads > 0 && task.num_heads % task.kv.num_heads == 0) << task.num_heads;
  CheckSize(task.kv.key_size);
  CheckSize(task.kv.value_size);
  CHECK_EQ(task.out.size, int64_t{task.num_heads} * task.kv.value_size);
  CHECK(task.out.values != nullptr);
  const int widest = std::max(task.kv.key_size, task.kv.value_size);
  if (task.kv.format != KvFormat::kF16 || widest > kMaxTensorHeadSize) {
    return LaunchChains(task, stream);
  }
  const size_t bytes = TensorSharedBytes(task.kv.value_size);
  return widest <= 64 ? Launch<TensorTiles<2, 1>>(task, bytes, stream)
                      : Launch<TensorTiles<4, 2>>(task, bytes, stream);
}

}  // namespace strata
