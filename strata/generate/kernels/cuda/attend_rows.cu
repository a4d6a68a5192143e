#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/attend_rows.h"
#include "strata/generate/kernels/cuda/attention_row.h"
#include "strata/generate/kernels/cuda/chain_tiles.h"
#include "strata/generate/kernels/cuda/head_vector.h"
#include "strata/generate/kernels/cuda/join_tiles.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/cuda/tensor_tiles.h"

namespace strata {
namespace {

constexpr int kMaxTensorHeadSize = 128;

bool RunsOnTensors(const KvLayer& kv) {
  return kv.format != KvFormat::kF32 && std::max(kv.key_size, kv.value_size) <= kMaxTensorHeadSize;
}

// A warp prepares heads of one query, key or value.
constexpr int kHeadWords = kMaxTensorHeadSize / 32;
constexpr size_t kPreparedBytes =
    (kAttentionHeads + kAttentionWarps) * kMaxTensorHeadSize * sizeof(float);

// What PrepareHeads does, as far as this block needs it: its queries to `queries` [heads][key_size],
// and if it computes the tile with the step's own position, that position's key and value to their
// page. Ends with a barrier.
__device__ __forceinline__ void PrepareChunk(const PrepareTask& task, const AttentionRow& work,
                                             bool stores_position, float* queries) {
  const DeviceStepRow& place = task.step->rows[work.row];
  const int warp = threadIdx.x / 32;
  float* const scratch = queries + (kAttentionHeads + warp) * kMaxTensorHeadSize;
  const int count = work.heads.count + (stores_position ? 2 : 0);
  for (int i = warp; i < count; i += kAttentionWarps) {
    const bool is_query = i < work.heads.count;
    const bool is_key = i == work.heads.count;
    const int number = is_query
                           ? work.heads.first_head + i
                           : task.num_heads + work.heads.kv_head + (is_key ? 0 : task.kv.num_heads);
    const HeadVector vector = HeadVectorOf(task, work.row, number);
    HeadWarp<kHeadWords> head(vector);
    head.LoadWeights();
    head.Load(task.rotation, work.row);
    float* const to = is_query ? queries + i * task.kv.key_size : scratch;
    head.StoreNormed(task.epsilon, to);
    head.Rotate(task.rotation.pairing, to);
    const bool is_finite =
        is_query ? IsFiniteHead(to, vector.size) : StoreKeyOrValue(task, number, place, to);
    if (!is_finite) ReportFault(task.fault, work.row);
  }
  __syncthreads();
}

// Block (i, chunk, row) computes tiles i, i + gridDim.x, ... of a chunk of heads of a row.
template <typename Tiles>
__global__ void __launch_bounds__(kAttentionThreads) Attend(AttendTask task) {
  extern __shared__ float4 shared_words[];
  auto* const shared = reinterpret_cast<float*>(shared_words);
  AttentionRow work;
  Tiles tiles(task, work, shared);
  if (task.begins_early) {
    work = AttentionRowOf(task, blockIdx.z, blockIdx.y);
    tiles.LoadEarly(blockIdx.x);
  }
  WaitForPredecessor();
  ReleaseSuccessor();
  if (!task.begins_early) work = AttentionRowOf(task, blockIdx.z, blockIdx.y);
  if (static_cast<int>(blockIdx.x) >= work.tiles.count) return;
  const int num_blocks = min(static_cast<int>(gridDim.x), work.tiles.count);
  const float* queries = task.queries + int64_t{work.row} * task.num_heads * task.kv.key_size +
                         work.heads.first_head * task.kv.key_size;
  if constexpr (Tiles::kMayPrepare) {
    if (task.prepare.query.values != nullptr) {
      float* const prepared = shared + Tiles::SharedBytes(task.kv.value_size) / sizeof(float);
      const bool has_last = (work.tiles.count - 1) % num_blocks == static_cast<int>(blockIdx.x);
      PrepareChunk(task.prepare, work, has_last, prepared);
      queries = prepared;
    }
  }
  tiles.Run(queries, blockIdx.x, gridDim.x);
  uint32_t* const tickets = task.tickets + work.row * (work.num_chunks + 1);
  if (!Tiles::kJoinsOnlyTile || work.tiles.count > 1) {
    // A block that did all tiles itself needs no ticket.
    if (num_blocks == 1) {
      __syncthreads();
    } else if (!IsLastBlock(&tickets[1 + work.chunk], num_blocks)) {
      return;
    }
    JoinTiles(task, work, shared);
    __syncthreads();
  }
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

template <typename Tiles>
absl::Status LaunchTensors(const AttendTask& task, const KernelStream& stream) {
  const size_t prepared_bytes = task.prepare.query.values == nullptr ? 0 : kPreparedBytes;
  return Launch<Tiles>(task, Tiles::SharedBytes(task.kv.value_size) + prepared_bytes, stream);
}

template <template <int, int> typename Elements>
absl::Status LaunchTensorsOfSize(const AttendTask& task, const KernelStream& stream) {
  return std::max(task.kv.key_size, task.kv.value_size) <= 64
             ? LaunchTensors<TensorTiles<Elements, 2, 1>>(task, stream)
             : LaunchTensors<TensorTiles<Elements, 4, 2>>(task, stream);
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

bool PreparesHeads(int num_rows, const KvLayer& kv) { return num_rows == 1 && RunsOnTensors(kv); }

absl::Status AttendRows(const AttendTask& task, const KernelStream& stream) {
  CHECK(0 < task.num_rows && task.num_rows <= kMaxRows) << task.num_rows;
  CHECK(task.kv.num_heads > 0 && task.num_heads % task.kv.num_heads == 0) << task.num_heads;
  CheckSize(task.kv.key_size);
  CheckSize(task.kv.value_size);
  CHECK_EQ(task.out.size, int64_t{task.num_heads} * task.kv.value_size);
  CHECK(task.out.values != nullptr);
  CHECK(task.prepare.query.values == nullptr || PreparesHeads(task.num_rows, task.kv));
  if (!RunsOnTensors(task.kv)) return LaunchChains(task, stream);
  return task.kv.format == KvFormat::kF16 ? LaunchTensorsOfSize<HalfElements>(task, stream)
                                          : LaunchTensorsOfSize<Int8Elements>(task, stream);
}

}  // namespace strata
