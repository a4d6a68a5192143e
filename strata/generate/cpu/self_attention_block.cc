#include "strata/generate/cpu/self_attention_block.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/attention.h"
#include "strata/generate/cpu/block_selector.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

KvShape KvShapeOf(const SelfAttention& attention) {
  KvShape shape = {.num_heads = attention.num_kv_heads,
                   .key_size = attention.key_size,
                   .value_size = attention.value_size};
  if (attention.indexer.has_value()) {
    shape.index_size = attention.indexer->head_size;
    shape.index_block = attention.indexer->block_size;
  }
  return shape;
}

SelfAttentionBlock::SelfAttentionBlock(const ModelGraph& graph,
                                       const std::vector<RotaryTable>& rotary, ThreadPool& pool)
    : graph_(graph),
      rotary_(rotary),
      pool_(pool),
      job_(pool),
      selector_(graph.norm_epsilon, pool),
      attention_of_worker_(pool.num_threads()),
      attended_batch_(pool) {}

int64_t SelfAttentionBlock::WorkspaceBytes(const SelfAttention& attention, int64_t num_rows) {
  const int64_t attended = int64_t{attention.num_heads} * attention.value_size;
  const int64_t queries = int64_t{attention.num_heads} * attention.key_size;
  return Rows::BytesFor(num_rows, queries) +
         (attention.has_gate ? Rows::BytesFor(num_rows, 2 * queries) : 0) +
         Rows::BytesFor(num_rows, int64_t{attention.num_kv_heads} * attention.key_size) +
         Rows::BytesFor(num_rows, int64_t{attention.num_kv_heads} * attention.value_size) +
         Rows::BytesFor(num_rows, attended) +
         (attention.indexer.has_value()
              ? BlockSelector::WorkspaceBytes(*attention.indexer, num_rows)
              : 0) +
         num_rows *
             ActivationBuffer::BytesFor(*ActivationFormOf(attention.output.weights.type), attended);
}

absl::Status SelfAttentionBlock::Run(const SelfAttention& attention, int layer,
                                     absl::Span<const CpuRow> rows, ActivationBatch& x, Rows& out) {
  job_.Clear();
  RETURN_IF_ERROR(
      job_.AddLinear(attention.query, x, attention.has_gate ? gated_queries_ : queries_));
  RETURN_IF_ERROR(job_.AddLinear(attention.key, x, keys_));
  if (attention.values_are_keys) {
    values_.Resize(x.count(), attention.key.weights.rows);
  } else {
    RETURN_IF_ERROR(job_.AddLinear(attention.value, x, values_));
  }
  if (attention.indexer.has_value()) {
    RETURN_IF_ERROR(selector_.AddProducts(*attention.indexer, x, job_));
  }
  RETURN_IF_ERROR(job_.Run());
  if (attention.has_gate) SplitGates(attention);
  RETURN_IF_ERROR(StoreKeysAndValues(attention, layer, rows));
  if (attention.indexer.has_value()) RETURN_IF_ERROR(SelectBlocks(attention, layer, rows));
  Attend(attention, layer, rows);
  attended_batch_.Assign(attended_);
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(attention.output, attended_batch_, out));
  return job_.Run();
}

void SelfAttentionBlock::SplitGates(const SelfAttention& attention) {
  const int64_t size = attention.key_size;
  queries_.Resize(gated_queries_.count(), attention.num_heads * size);
  pool_.ParallelFor(queries_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      for (int64_t head = 0; head < attention.num_heads; ++head) {
        std::copy_n(&gated_queries_.row(i)[2 * head * size], size, &queries_.row(i)[head * size]);
      }
    }
  });
}

void SelfAttentionBlock::PrepareValues(const SelfAttention& attention, int64_t i) {
  absl::Span<float> values = values_.row(i);
  if (attention.values_are_keys) std::copy_n(keys_.row(i).begin(), values.size(), values.begin());
  if (!attention.norms_values) return;
  for (; !values.empty(); values.remove_prefix(attention.value_size)) {
    const absl::Span<float> head = values.subspan(0, attention.value_size);
    RmsNorm(head, /*weight=*/{}, graph_.norm_epsilon, head);
  }
}

void SelfAttentionBlock::PrepareHeads(const SelfAttention& attention,
                                      const std::vector<float>& norm, int head_size,
                                      int64_t position, absl::Span<float> heads) const {
  if (!norm.empty() && attention.norm_scope == NormScope::kAllHeads) {
    RmsNorm(heads, norm, graph_.norm_epsilon, heads);
  }
  for (; !heads.empty(); heads.remove_prefix(head_size)) {
    const absl::Span<float> head = heads.subspan(0, head_size);
    if (!norm.empty() && attention.norm_scope == NormScope::kHead) {
      RmsNorm(head, norm, graph_.norm_epsilon, head);
    }
    if (attention.rotation != SelfAttention::kNoRotation) {
      const RotaryTable& table = rotary_[attention.rotation];
      Rotate(graph_.rotations[attention.rotation].pairing, table.Cosines(position),
             table.Sines(position), head.data());
    }
    if (!norm.empty() && attention.norm_scope == NormScope::kRotatedHead) {
      RmsNorm(head, norm, graph_.norm_epsilon, head);
    }
  }
}

absl::Status SelfAttentionBlock::StoreKeysAndValues(const SelfAttention& attention, int layer,
                                                    absl::Span<const CpuRow> rows) {
  std::atomic<bool> is_finite = true;
  pool_.ParallelFor(keys_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const CpuRow& row = rows[static_cast<size_t>(i)];
      PrepareValues(attention, i);
      PrepareHeads(attention, attention.query_norm, attention.key_size, row.position,
                   queries_.row(i));
      PrepareHeads(attention, attention.key_norm, attention.key_size, row.position, keys_.row(i));
      if (!row.kv->Store(layer, row.position, keys_.row(i), values_.row(i))) is_finite = false;
    }
  });
  if (is_finite) return absl::OkStatus();
  return NotFiniteError(
      absl::StrCat("a key or a value of ", attention.key.name, " for the KV cache"));
}

absl::Status SelfAttentionBlock::SelectBlocks(const SelfAttention& attention, int layer,
                                              absl::Span<const CpuRow> rows) {
  BlockSelector::Turn turn;
  if (attention.rotation != SelfAttention::kNoRotation) {
    turn = {.pairing = graph_.rotations[attention.rotation].pairing,
            .table = &rotary_[attention.rotation]};
  }
  RETURN_IF_ERROR(selector_.Store(*attention.indexer, turn, layer, rows));
  selector_.Select(*attention.indexer, layer, rows);
  return absl::OkStatus();
}

void SelfAttentionBlock::OpenGates(const SelfAttention& attention, int first_head, int64_t i) {
  const int group = attention.num_heads / attention.num_kv_heads;
  const size_t size = attention.value_size;
  for (int head = first_head; head < first_head + group; ++head) {
    const absl::Span<float> attended = attended_.row(i).subspan(head * size, size);
    ApplyGate(GatedActivation::kSigmoid, gated_queries_.row(i).subspan((2 * head + 1) * size, size),
              attended, attended);
  }
}

void SelfAttentionBlock::Attend(const SelfAttention& attention, int layer,
                                absl::Span<const CpuRow> rows) {
  const AttentionShape shape = {.num_heads = attention.num_heads,
                                .kv = KvShapeOf(attention),
                                .scale = attention.scale,
                                .window = attention.window};
  attended_.Resize(queries_.count(), int64_t{attention.num_heads} * attention.value_size);
  const int group = attention.num_heads / attention.num_kv_heads;
  const int64_t num_items = queries_.count() * attention.num_kv_heads;
  pool_.ParallelFor(num_items, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t item = piece.begin; item < piece.end; ++item) {
      const int64_t i = item / attention.num_kv_heads;
      const int first_head = static_cast<int>(item % attention.num_kv_heads) * group;
      const CpuRow& row = rows[static_cast<size_t>(i)];
      const Attention::Heads heads = {first_head, first_head + group};
      const std::optional<BlockSelection> selection =
          attention.indexer.has_value() ? selector_.Of(i) : std::nullopt;
      Attention& worker = attention_of_worker_[piece.worker];
      if (selection.has_value()) {
        worker.AttendTo(*selection, shape, *row.kv, layer, heads, row.position, queries_.row(i),
                        attention.sinks, attended_.row(i));
      } else {
        worker.Attend(shape, *row.kv, layer, heads, row.position, queries_.row(i), attention.sinks,
                      attended_.row(i));
      }
      if (attention.has_gate) OpenGates(attention, first_head, i);
    }
  });
}

}  // namespace strata
