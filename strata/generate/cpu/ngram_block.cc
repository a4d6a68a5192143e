#include "strata/generate/cpu/ngram_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/page_advice.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/convolution_window.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/recurrent_pool.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/ngram_rows.h"
#include "strata/generate/model/weight_matrix.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

// Of the root under a gate's sigmoid.
constexpr float kLeastMagnitude = 1e-6f;

absl::Span<const std::byte> RowOf(const WeightMatrix& table, int64_t row) {
  return absl::MakeConstSpan(table.row(row), table.row_bytes());
}

// sigmoid(sign(s) sqrt(max(|s|, least)))
float GateOf(float s) {
  const float root = f32::Sqrt(std::max(std::abs(s), kLeastMagnitude));
  return f32::Sigmoid(s > 0.0f ? root : s < 0.0f ? -root : 0.0f);
}

}  // namespace

int64_t RecurrentValuesOf(const NgramEmbedding& ngrams) {
  return ConvolutionWindow::StateValues(ngrams.convolution) + ngrams.num_tokens - 1;
}

NgramBlock::NgramBlock(const ModelGraph& graph, ThreadPool& pool)
    : graph_(graph), pool_(pool), job_(pool), embedded_batch_(pool) {
  if (!graph.ngrams.has_value()) return;
  const WeightMatrix& table = graph.ngrams->table;
  AdviseScatteredReads(absl::MakeConstSpan(table.data, table.rows * table.row_bytes()));
}

int64_t NgramBlock::WorkspaceBytes(const ModelGraph& graph, int64_t num_rows) {
  if (!graph.ngrams.has_value()) return 0;
  int64_t bytes =
      2 * Rows::BytesFor(num_rows, graph.width) + 4 * Rows::BytesFor(num_rows, graph.state_width());
  for (const ActivationForm form :
       std::set<ActivationForm>{*ActivationFormOf(graph.ngrams->key.weights.type),
                                *ActivationFormOf(graph.ngrams->value.weights.type)}) {
    bytes += num_rows * ActivationBuffer::BytesFor(form, graph.width);
  }
  return bytes;
}

int32_t NgramBlock::TokenBefore(const NgramEmbedding& ngrams, int part,
                                absl::Span<const CpuRow> rows, size_t i, int64_t places) const {
  const int64_t index = rows[i].index_in_sequence() - places;
  if (index >= 0) return rows[i - static_cast<size_t>(places)].token;
  const float* const state = rows[i].recurrent->Before(part);
  if (state == nullptr) return ngrams.end_token;
  return std::bit_cast<int32_t>(
      state[ConvolutionWindow::StateValues(ngrams.convolution) + ngrams.num_tokens - 1 + index]);
}

void NgramBlock::Fetch(const NgramEmbedding& ngrams, int part, absl::Span<const CpuRow> rows) {
  const size_t num_heads = ngrams.heads.size();
  table_rows_.resize(rows.size() * num_heads);
  std::array<int32_t, NgramEmbedding::kMaxTokens> tokens;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int place = 0; place < ngrams.num_tokens; ++place) {
      tokens[place] = TokenBefore(ngrams, part, rows, i, place);
    }
    NgramRows(ngrams, absl::MakeConstSpan(tokens.data(), ngrams.num_tokens),
              absl::MakeSpan(table_rows_).subspan(i * num_heads, num_heads));
  }
  for (const int64_t row : table_rows_) AdviseReadSoon(RowOf(ngrams.table, row));
}

absl::Status NgramBlock::Run(const NgramEmbedding& ngrams, int part, absl::Span<const CpuRow> rows,
                             Rows& x) {
  embedded_.Resize(x.count(), graph_.width);
  Embed(ngrams);
  embedded_batch_.Assign(embedded_);
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(ngrams.key, embedded_batch_, keys_));
  RETURN_IF_ERROR(job_.AddLinear(ngrams.value, embedded_batch_, values_));
  RETURN_IF_ERROR(job_.Run());
  added_.Resize(x.count(), x.width());
  inputs_.Resize(x.count(), x.width());
  pool_.ParallelFor(x.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) Weigh(ngrams, i, x.row(i));
  });
  mixed_.Resize(x.count(), x.width());
  const ConvolutionWindow window(ngrams.convolution, part, rows, inputs_);
  pool_.ParallelFor(x.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      window.Convolve(static_cast<size_t>(i), mixed_.row(i));
      ApplySilu(mixed_.row(i));
      AddProduct(1.0f, mixed_.row(i), added_.row(i));
      AddProduct(1.0f, added_.row(i), x.row(i));
      Store(ngrams, part, rows, static_cast<size_t>(i), window);
    }
  });
  return absl::OkStatus();
}

void NgramBlock::Embed(const NgramEmbedding& ngrams) {
  const int64_t size = ngrams.table.columns;
  const auto num_heads = static_cast<int64_t>(ngrams.heads.size());
  num_rows_read_ += static_cast<int64_t>(table_rows_.size());
  pool_.ParallelFor(embedded_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      for (int64_t head = 0; head < num_heads; ++head) {
        DecodeRow(ngrams.table.type, ngrams.table.row(table_rows_[i * num_heads + head]),
                  embedded_.row(i).subspan(head * size, size));
      }
    }
  });
}

void NgramBlock::Weigh(const NgramEmbedding& ngrams, int64_t i, absl::Span<const float> x) {
  const auto width = static_cast<size_t>(graph_.width);
  const float root = f32::Sqrt(static_cast<float>(graph_.width));
  for (size_t at = 0; at < x.size(); at += width) {
    const auto of_stream = [&](absl::Span<const float> all) { return all.subspan(at, width); };
    const absl::Span<float> key = keys_.row(i).subspan(at, width);
    const absl::Span<float> added = added_.row(i).subspan(at, width);
    const absl::Span<float> input = inputs_.row(i).subspan(at, width);
    RmsNorm(key, of_stream(ngrams.key_norm), graph_.norm_epsilon, key);
    RmsNorm(of_stream(x), of_stream(ngrams.query_norm), graph_.norm_epsilon, input);
    const float gate = GateOf(f32::Div(Dot(key, input), root));
    std::copy_n(values_.row(i).begin(), width, added.begin());
    Scale(gate, added);
    RmsNorm(added, of_stream(ngrams.convolution_norm), graph_.norm_epsilon, input);
  }
}

void NgramBlock::Store(const NgramEmbedding& ngrams, int part, absl::Span<const CpuRow> rows,
                       size_t i, const ConvolutionWindow& window) const {
  window.Store(i);
  const auto store_tokens = [&](float* state) {
    float* to = state + ConvolutionWindow::StateValues(ngrams.convolution);
    for (int64_t places = ngrams.num_tokens - 2; places >= 0; --places) {
      *to++ = std::bit_cast<float>(TokenBefore(ngrams, part, rows, i, places));
    }
  };
  const CpuRow& row = rows[i];
  if (IsLastOfSequence(rows, i)) store_tokens(row.recurrent->After(part));
  if (row.snapshot != RecurrentPool::kNoBuffer) {
    store_tokens(row.recurrent->Snapshot(row.snapshot, part));
  }
}

}  // namespace strata
