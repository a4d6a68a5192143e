#include "strata/generate/cpu/latent_attention_block.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/attention.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {
namespace {

// Heads that one thread takes together, so that it reads a tile of kept rows for all of them.
constexpr int kHeadsOfAnItem = 4;

int64_t FormBytes(BlockType type, int64_t num_vectors, int64_t size) {
  return num_vectors * ActivationBuffer::BytesFor(*ActivationFormOf(type), size);
}

}  // namespace

KvShape KvShapeOf(const LatentAttention& attention) {
  return {.num_heads = 1,
          .key_size = attention.row_size(),
          .value_size = attention.compressed_size,
          .values_in_keys = true};
}

LatentAttentionBlock::LatentAttentionBlock(const ModelGraph& graph,
                                           const std::vector<RotaryTable>& rotary, ThreadPool& pool)
    : graph_(graph),
      rotary_(rotary),
      pool_(pool),
      job_(pool),
      attention_of_worker_(pool.num_threads()),
      key_of_worker_(pool.num_threads()),
      query_batch_(pool),
      plain_batch_(pool),
      attended_batch_(pool),
      values_batch_(pool) {}

int64_t LatentAttentionBlock::workspace_bytes() const {
  return compressed_queries_.bytes() + queries_.bytes() + kept_.bytes() + plain_.bytes() +
         attended_.bytes() + meeting_.bytes() + values_.bytes() + query_batch_.bytes() +
         plain_batch_.bytes() + attended_batch_.bytes() + values_batch_.bytes();
}

int64_t LatentAttentionBlock::WorkspaceBytes(const LatentAttention& attention, int64_t num_rows) {
  const int64_t heads = attention.num_heads;
  const int64_t values = heads * attention.value_size;
  int64_t bytes =
      Rows::BytesFor(num_rows, heads * attention.query_size()) +
      Rows::BytesFor(num_rows, attention.row_size()) +
      Rows::BytesFor(num_rows * heads, attention.plain_size) +
      Rows::BytesFor(num_rows, heads * attention.row_size()) +
      Rows::BytesFor(num_rows * heads, attention.compressed_size) +
      Rows::BytesFor(num_rows, values) +
      FormBytes(attention.value.first.type, num_rows * heads, attention.compressed_size) +
      FormBytes(attention.output.weights.type, num_rows, values);
  if (attention.key_is_transposed) {
    bytes += FormBytes(attention.key.first.type, num_rows * heads, attention.plain_size);
  }
  if (attention.query_compress.has_value()) {
    const int64_t rank = attention.query.weights.columns;
    bytes +=
        Rows::BytesFor(num_rows, rank) + FormBytes(attention.query.weights.type, num_rows, rank);
  }
  return bytes;
}

absl::Status LatentAttentionBlock::Run(const LatentAttention& attention, int layer,
                                       absl::Span<const CpuRow> rows, ActivationBatch& x,
                                       Rows& out) {
  RETURN_IF_ERROR(Project(attention, x));
  RETURN_IF_ERROR(Store(attention, layer, rows));
  RETURN_IF_ERROR(MeetKeptRows(attention, rows));
  Attend(attention, layer, rows);
  attended_batch_.Assign(attended_);
  values_.Resize(queries_.count(), int64_t{attention.num_heads} * attention.value_size);
  RETURN_IF_ERROR(MultiplyHeads(attention.value, attention.num_heads, attended_batch_,
                                attention.value_size, values_));
  values_batch_.Assign(values_);
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(attention.output, values_batch_, out));
  return job_.Run();
}

absl::Status LatentAttentionBlock::Project(const LatentAttention& attention, ActivationBatch& x) {
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(attention.compress, x, kept_));
  if (!attention.query_compress.has_value()) {
    RETURN_IF_ERROR(job_.AddLinear(attention.query, x, queries_));
    return job_.Run();
  }
  RETURN_IF_ERROR(job_.AddLinear(*attention.query_compress, x, compressed_queries_));
  RETURN_IF_ERROR(job_.Run());
  pool_.ParallelFor(compressed_queries_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const absl::Span<float> row = compressed_queries_.row(i);
      RmsNorm(row, attention.query_norm, graph_.norm_epsilon, row);
    }
  });
  query_batch_.Assign(compressed_queries_);
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(attention.query, query_batch_, queries_));
  return job_.Run();
}

void LatentAttentionBlock::RotateTail(const LatentAttention& attention, int64_t position,
                                      absl::Span<float> head) const {
  if (attention.rotation == SelfAttention::kNoRotation) return;
  const RotaryTable& table = rotary_[attention.rotation];
  Rotate(graph_.rotations[attention.rotation].pairing, table.Cosines(position),
         table.Sines(position), head.last(static_cast<size_t>(attention.rotated_size)).data());
}

absl::Status LatentAttentionBlock::Store(const LatentAttention& attention, int layer,
                                         absl::Span<const CpuRow> rows) {
  std::atomic<bool> is_finite = true;
  pool_.ParallelFor(kept_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const CpuRow& row = rows[static_cast<size_t>(i)];
      const absl::Span<float> kept = kept_.row(i);
      const absl::Span<float> compressed =
          kept.first(static_cast<size_t>(attention.compressed_size));
      RmsNorm(compressed, attention.compressed_norm, graph_.norm_epsilon, compressed);
      RotateTail(attention, row.position, kept);
      if (!row.kv->Store(layer, row.position, kept, {})) is_finite = false;
    }
  });
  if (is_finite) return absl::OkStatus();
  return NotFiniteError(absl::StrCat("a row of ", attention.compress.name, " for the KV cache"));
}

absl::Status LatentAttentionBlock::MeetKeptRows(const LatentAttention& attention,
                                                absl::Span<const CpuRow> rows) {
  const int64_t heads = attention.num_heads;
  const auto plain_size = static_cast<size_t>(attention.plain_size);
  meeting_.Resize(queries_.count(), heads * attention.row_size());
  plain_.Resize(queries_.count() * heads, attention.plain_size);
  pool_.ParallelFor(plain_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t item = piece.begin; item < piece.end; ++item) {
      const int64_t i = item / heads;
      const int64_t head = item % heads;
      const absl::Span<float> query =
          queries_.row(i).subspan(head * attention.query_size(), attention.query_size());
      RotateTail(attention, rows[static_cast<size_t>(i)].position, query);
      std::copy_n(query.begin(), plain_size, plain_.row(item).begin());
      std::copy(query.begin() + plain_size, query.end(),
                meeting_.row(i).begin() + head * attention.row_size() + attention.compressed_size);
    }
  });
  if (!attention.key_is_transposed) {
    SumKeyRows(attention);
    return absl::OkStatus();
  }
  plain_batch_.Assign(plain_);
  return MultiplyHeads(attention.key, attention.num_heads, plain_batch_, attention.row_size(),
                       meeting_);
}

// The product with the transposed matrix, from the matrix as it stands: the sum of its rows, each
// times a value of the query, in ascending order. A head's rows are decoded once for the batch.
void LatentAttentionBlock::SumKeyRows(const LatentAttention& attention) {
  const int64_t heads = attention.num_heads;
  const auto columns = static_cast<size_t>(attention.compressed_size);
  pool_.ParallelFor(heads, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    std::vector<float>& key = key_of_worker_[piece.worker];
    key.resize(columns * static_cast<size_t>(attention.plain_size));
    for (int64_t head = piece.begin; head < piece.end; ++head) {
      const WeightMatrix weights = attention.key.Weights(static_cast<int>(head));
      for (int64_t row = 0; row < weights.rows; ++row) {
        DecodeRow(weights.type, weights.row(row), absl::MakeSpan(&key[row * columns], columns));
      }
      for (int64_t i = 0; i < queries_.count(); ++i) {
        const absl::Span<float> meeting =
            meeting_.row(i).subspan(head * attention.row_size(), columns);
        SumWeightedRows(plain_.row(i * heads + head), key.data(), meeting);
        if (attention.key.scale != 1.0f) Scale(attention.key.scale, meeting);
      }
    }
  });
}

void LatentAttentionBlock::Attend(const LatentAttention& attention, int layer,
                                  absl::Span<const CpuRow> rows) {
  const int heads = attention.num_heads;
  const AttentionShape shape = {
      .num_heads = heads, .kv = KvShapeOf(attention), .scale = attention.scale};
  CHECK_EQ(attention.compressed_size % Rows::kValuesPerLine, 0);
  attended_.Resize(queries_.count() * heads, attention.compressed_size);
  const int64_t items_of_a_row = (heads + kHeadsOfAnItem - 1) / kHeadsOfAnItem;
  const int64_t num_items = queries_.count() * items_of_a_row;
  pool_.ParallelFor(num_items, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t item = piece.begin; item < piece.end; ++item) {
      const int64_t i = item / items_of_a_row;
      const int first = static_cast<int>(item % items_of_a_row) * kHeadsOfAnItem;
      const CpuRow& row = rows[static_cast<size_t>(i)];
      // Whole cache lines each, so the rows of its heads lie one after the other.
      const absl::Span<float> attended =
          absl::MakeSpan(attended_.row(i * heads).data(), heads * attended_.width());
      attention_of_worker_[piece.worker].Attend(shape, *row.kv, layer,
                                                {first, std::min(first + kHeadsOfAnItem, heads)},
                                                row.position, meeting_.row(i), {}, attended);
    }
  });
}

absl::Status LatentAttentionBlock::MultiplyHeads(const HeadLinears& linears, int num_heads,
                                                 ActivationBatch& from, int to_size, Rows& to) {
  ASSIGN_OR_RETURN(const absl::Span<const ActivationView> views,
                   from.ViewsFor(linears.first.type, linears.name));
  job_.Clear();
  for (int head = 0; head < num_heads; ++head) {
    job_.AddMatrix(
        {.name = linears.name, .weights = linears.Weights(head), .scale = linears.scale});
    for (int64_t i = 0; i < to.count(); ++i) {
      job_.AddVector(views[i * num_heads + head],
                     to.row(i).subspan(int64_t{head} * to_size, linears.first.rows));
    }
  }
  return job_.Run();
}

}  // namespace strata
