// Softmax attention of up to kMaxRows rows over their sequences' pages of the KV cache, in one
// kernel.
//
// The bits of a row depend on its queries, on the keys and values up to its position and on the
// shape of the layer, and on nothing else: not on other rows, not on how many blocks share the work
// or which page lies where. What a row sees is cut into tiles (TileOf), at borders that follow from
// its position alone. Tiles become partial results (maximum, sum, weighted values) by any block,
// and the last block to be done with a head's tiles joins them in the order of tiles: with M the
// greatest maximum, of a sink too, sum = the chain of fma(sum_t, Exp(max_t - M), .) over ascending
// tiles, the sink's exponential last, and values alike; then a division. They are close to the
// CPU's results, not equal.
//
// Within a tile f16 and int8 keys of head sizes up to 128 go through tensor cores, queries and
// probabilities as the sum of two halves, which keeps 22 bits; the rest uses f32 chains.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ATTEND_ROWS_H_
#define STRATA_GENERATE_KERNELS_CUDA_ATTEND_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

// Heads of one KV head that a block computes together.
inline constexpr int kAttentionHeads = 8;
// Positions that a block takes at once; a tile is a power of two of them.
inline constexpr int kAttentionRun = 128;
inline constexpr int kMaxAttentionTiles = 64;

// The positions [first, position] that a row sees, in tiles of size() positions, whose borders are
// multiples of it: tiles [first_tile, first_tile + count).
struct AttentionTiles {
  int first = 0;
  int size_bits = 0;
  int first_tile = 0;
  int count = 0;

  STRATA_NUMERIC int size() const { return 1 << size_bits; }
};

// A window of 0 sees everything.
STRATA_NUMERIC AttentionTiles TilesOf(int position, int64_t window) {
  AttentionTiles tiles;
  tiles.first = window > 0 && position >= window ? static_cast<int>(position - window + 1) : 0;
  while (1 << tiles.size_bits < kAttentionRun) ++tiles.size_bits;
  while ((position >> tiles.size_bits) - (tiles.first >> tiles.size_bits) >= kMaxAttentionTiles) {
    ++tiles.size_bits;
  }
  tiles.first_tile = tiles.first >> tiles.size_bits;
  tiles.count = (position >> tiles.size_bits) - tiles.first_tile + 1;
  return tiles;
}

struct AttendTask {
  int num_rows = 0;
  int num_heads = 0;  // A multiple of kv.num_heads; neighbouring heads share one.
  KvLayer kv;
  float scale = 1.0f;
  int64_t window = 0;            // A row sees itself and the window - 1 before it; 0: all.
  const float* sinks = nullptr;  // [num_heads]; null: none.
  const DeviceStep* step = nullptr;
  std::byte* const* page_table = nullptr;
  const float* queries = nullptr;  // [rows][num_heads][key_size], 16-byte aligned.
  // With query.values, where PreparesHeads: of a step of one row, what PrepareHeads is given, which
  // this kernel then does itself; both `queries` are null.
  PrepareTask prepare;
  float* partials = nullptr;  // AttentionPartialFloats(), shared by all layers.
  // AttentionTickets() words, zero before the first step and after each.
  uint32_t* tickets = nullptr;
  // Keys and values of earlier steps are read before the wait. The kernel right before this one
  // stored none of `step`, `page_table` and them, and began when all before it had ended, as each
  // does that follows the rules of launch.h.
  bool begins_early = false;
  // [rows][num_heads * value_size] in the forms that the output's matrix wants; `values` is always
  // given.
  DeviceActivations out;
  FaultReport fault;
};

// Of the memory that a layer wants.
int64_t AttentionPartialFloats(int num_rows, int num_heads, const KvLayer& kv);
int64_t AttentionTickets(int num_rows, int num_heads, const KvLayer& kv);

// Whether a step can leave PrepareHeads to AttendRows.
bool PreparesHeads(int num_rows, const KvLayer& kv);

absl::Status AttendRows(const AttendTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ATTEND_ROWS_H_
