#include "strata/generate/cpu/block_selector.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/attention.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int64_t kTile = KvPool::kPagePositions;
static_assert(kTile % BlockIndexer::kMaxBlockSize == 0);

// Blocks that are worth a thread's while.
constexpr int64_t kLeastTilesOfPiece = 8;

int64_t NumComplete(const BlockIndexer& indexer, const CpuRow& row) {
  return (row.position + 1) / indexer.block_size;
}

void TurnHead(const BlockSelector::Turn& turn, int64_t position, absl::Span<float> head) {
  if (turn.table == nullptr) return;
  Rotate(turn.pairing, turn.table->Cosines(position), turn.table->Sines(position), head.data());
}

}  // namespace

int64_t BlockSelector::WorkspaceBytes(const BlockIndexer& indexer, int64_t num_rows) {
  return Rows::BytesFor(num_rows, int64_t{indexer.num_heads} * indexer.head_size) +
         Rows::BytesFor(num_rows, indexer.head_size) +
         num_rows * (indexer.num_kept * int64_t{sizeof(int32_t)} + int64_t{sizeof(Selected)});
}

absl::Status BlockSelector::AddProducts(const BlockIndexer& indexer, ActivationBatch& x,
                                        ProductJob& job) {
  RETURN_IF_ERROR(job.AddLinear(indexer.query, x, queries_));
  return job.AddLinear(indexer.key, x, keys_);
}

absl::Status BlockSelector::Store(const BlockIndexer& indexer, const Turn& turn, int layer,
                                  absl::Span<const CpuRow> rows) {
  std::atomic<bool> is_finite = true;
  const auto size = static_cast<size_t>(indexer.head_size);
  pool_.ParallelFor(keys_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const CpuRow& row = rows[static_cast<size_t>(i)];
      if (!row.kv->StoreIndex(layer, row.position, keys_.row(i))) is_finite = false;
      absl::Span<float> heads = queries_.row(i);
      for (; !heads.empty(); heads.remove_prefix(size)) {
        const absl::Span<float> head = heads.subspan(0, size);
        RmsNorm(head, indexer.query_norm, norm_epsilon_, head);
        TurnHead(turn, row.position, head);
      }
    }
  });
  pool_.ParallelFor(keys_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const CpuRow& row = rows[static_cast<size_t>(i)];
      if ((row.position + 1) % indexer.block_size != 0) continue;
      if (!StoreBlock(indexer, turn, layer, row, scratch_of_worker_[piece.worker])) {
        is_finite = false;
      }
    }
  });
  if (is_finite) return absl::OkStatus();
  return NotFiniteError(absl::StrCat("a result of ", indexer.key.name, " for the KV cache"));
}

bool BlockSelector::StoreBlock(const BlockIndexer& indexer, const Turn& turn, int layer,
                               const CpuRow& row, Scratch& scratch) const {
  const auto size = static_cast<size_t>(indexer.head_size);
  const int64_t first = row.position + 1 - indexer.block_size;
  scratch.rows.resize((indexer.block_size + 1) * size);
  const absl::Span<float> mean = absl::MakeSpan(scratch.rows).subspan(0, size);
  const float* const keys =
      row.kv->Indexes(layer, first, indexer.block_size, scratch.rows.data() + size);
  std::copy_n(keys, size, mean.begin());
  for (int i = 1; i < indexer.block_size; ++i) {
    AddProduct(1.0f, absl::MakeConstSpan(keys + i * size, size), mean);
  }
  for (float& value : mean) value = f32::Div(value, static_cast<float>(indexer.block_size));
  RmsNorm(mean, indexer.key_norm, norm_epsilon_, mean);
  TurnHead(turn, first, mean);
  return row.kv->StoreBlockIndex(layer, first, mean);
}

void BlockSelector::Select(const BlockIndexer& indexer, int layer, absl::Span<const CpuRow> rows) {
  block_size_ = indexer.block_size;
  num_kept_ = indexer.num_kept;
  selected_.resize(rows.size());
  bool has_choice = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t num_blocks = NumComplete(indexer, rows[i]);
    selected_[i] = {.all = num_blocks <= num_kept_, .tail = num_blocks * block_size_};
    has_choice = has_choice || !selected_[i].all;
  }
  if (!has_choice) return;
  kept_.resize(rows.size() * num_kept_);
  const auto scores_in = [&](std::vector<float>& scores, int64_t num_blocks) {
    scores.resize(std::max<size_t>(scores.size(), num_blocks));
    return absl::MakeSpan(scores).subspan(0, num_blocks);
  };
  const auto num_tiles = [&](int64_t num_blocks) {
    return (num_blocks * block_size_ + kTile - 1) / kTile;
  };
  if (static_cast<int>(rows.size()) >= pool_.num_threads()) {
    pool_.ParallelFor(static_cast<int64_t>(rows.size()), /*grain=*/1,
                      [&](const ThreadPool::Piece& piece) {
                        Scratch& scratch = scratch_of_worker_[piece.worker];
                        for (int64_t i = piece.begin; i < piece.end; ++i) {
                          if (selected_[i].all) continue;
                          const int64_t num_blocks = NumComplete(indexer, rows[i]);
                          const absl::Span<float> scores = scores_in(scratch.scores, num_blocks);
                          Score(indexer, layer, rows[i], queries_.row(i), 0, num_tiles(num_blocks),
                                scores, scratch);
                          Keep(indexer, i, scores, scratch);
                        }
                      });
    return;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (selected_[i].all) continue;
    const int64_t num_blocks = NumComplete(indexer, rows[i]);
    const absl::Span<float> scores = scores_in(scores_, num_blocks);
    pool_.ParallelFor(num_tiles(num_blocks), kLeastTilesOfPiece,
                      [&](const ThreadPool::Piece& piece) {
                        Score(indexer, layer, rows[i], queries_.row(static_cast<int64_t>(i)),
                              piece.begin, piece.end, scores, scratch_of_worker_[piece.worker]);
                      });
    Keep(indexer, static_cast<int64_t>(i), scores, scratch_of_worker_[0]);
  }
}

void BlockSelector::Score(const BlockIndexer& indexer, int layer, const CpuRow& row,
                          absl::Span<const float> query, int64_t first_tile, int64_t end_tile,
                          absl::Span<float> scores, Scratch& scratch) const {
  const auto size = static_cast<size_t>(indexer.head_size);
  const int64_t blocks_of_tile = kTile / indexer.block_size;
  scratch.rows.resize(std::max(scratch.rows.size(), blocks_of_tile * size));
  scratch.head_scores.resize(blocks_of_tile);
  for (int64_t tile = first_tile; tile < end_tile; ++tile) {
    const absl::Span<float> of_tile = scores.subspan(tile * blocks_of_tile, blocks_of_tile);
    const float* const keys =
        row.kv->BlockIndexes(layer, tile, static_cast<int>(of_tile.size()), scratch.rows.data());
    std::fill(of_tile.begin(), of_tile.end(), 0.0f);
    const absl::Span<float> of_head =
        absl::MakeSpan(scratch.head_scores).subspan(0, of_tile.size());
    for (int head = 0; head < indexer.num_heads; ++head) {
      DotRows(query.subspan(head * size, size), keys, of_head);
      for (size_t b = 0; b < of_head.size(); ++b) {
        // A NaN, of an overflow, counts as no score.
        of_tile[b] = f32::Add(of_tile[b], of_head[b] > 0.0f ? of_head[b] : 0.0f);
      }
    }
  }
}

void BlockSelector::Keep(const BlockIndexer& indexer, int64_t i, absl::Span<const float> scores,
                         Scratch& scratch) {
  scratch.order.resize(scores.size());
  std::iota(scratch.order.begin(), scratch.order.end(), 0);
  const auto end = scratch.order.begin() + indexer.num_kept;
  std::nth_element(scratch.order.begin(), end, scratch.order.end(), [&](int32_t a, int32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  std::sort(scratch.order.begin(), end);
  std::copy(scratch.order.begin(), end, kept_.begin() + i * indexer.num_kept);
}

std::optional<BlockSelection> BlockSelector::Of(int64_t i) const {
  const Selected& selected = selected_[static_cast<size_t>(i)];
  if (selected.all) return std::nullopt;
  return BlockSelection{.block_size = block_size_,
                        .blocks = absl::MakeConstSpan(kept_).subspan(i * num_kept_, num_kept_),
                        .tail = selected.tail};
}

}  // namespace strata
