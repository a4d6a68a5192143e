#include "strata/generate/cpu/delta_net_block.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/convolution_window.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/recurrent_pool.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/delta_memory.h"
#include "strata/generate/kernels/delta_rule.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

// x / sqrt(|x|^2 + epsilon), times a factor.
void NormalizeLength(float epsilon, float factor, absl::Span<float> x) {
  Scale(f32::Div(1.0f, f32::Sqrt(f32::Add(Dot(x, x), epsilon))), x);
  if (factor != 1.0f) Scale(factor, x);
}

}  // namespace

int64_t RecurrentValuesOf(const GatedDeltaNet& net) {
  return ConvolutionWindow::StateValues(net.convolution) +
         net.num_value_heads * DeltaMemory::NumValues(net.head_size);
}

int64_t DeltaNetBlock::WorkspaceBytes(const GatedDeltaNet& net, int64_t num_rows) {
  return Rows::BytesFor(num_rows, net.input_width()) +
         Rows::BytesFor(num_rows, net.num_channels()) +
         Rows::BytesFor(num_rows, 3 * net.num_value_heads) +
         Rows::BytesFor(num_rows, net.output_width()) +
         num_rows * ActivationBuffer::BytesFor(*ActivationFormOf(net.output.weights.type),
                                               net.output_width());
}

absl::Status DeltaNetBlock::Run(const GatedDeltaNet& net, int layer, absl::Span<const CpuRow> rows,
                                ActivationBatch& x, Rows& out) {
  RETURN_IF_ERROR(Project(net, x));
  mixed_.Resize(inputs_.count(), net.num_channels());
  factors_.Resize(inputs_.count(), 3 * net.num_value_heads);
  const ConvolutionWindow window(net.convolution, layer, rows, inputs_);
  pool_.ParallelFor(inputs_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      window.Convolve(static_cast<size_t>(i), mixed_.row(i));
      window.Store(static_cast<size_t>(i));
      PrepareRow(net, i);
    }
  });

  first_rows_.clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].index_in_sequence() == 0) first_rows_.push_back(i);
  }
  read_.Resize(inputs_.count(), net.output_width());
  const int64_t num_blocks = DeltaMemory::NumBlocks(net.head_size);
  const int64_t num_of_sequence = net.num_value_heads * num_blocks;
  pool_.ParallelFor(static_cast<int64_t>(first_rows_.size()) * num_of_sequence, /*grain=*/1,
                    [&](const ThreadPool::Piece& piece) {
                      for (int64_t item = piece.begin; item < piece.end; ++item) {
                        const int64_t of_sequence = item % num_of_sequence;
                        RunPiece(net, layer, rows,
                                 {.head = static_cast<int>(of_sequence / num_blocks),
                                  .block = of_sequence % num_blocks,
                                  .first_row = first_rows_[item / num_of_sequence]});
                      }
                    });
  pool_.ParallelFor(read_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) FinishRow(net, i);
  });
  read_batch_.Assign(read_);
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(net.output, read_batch_, out));
  return job_.Run();
}

absl::Status DeltaNetBlock::Project(const GatedDeltaNet& net, ActivationBatch& x) {
  inputs_.Resize(x.count(), net.input_width());
  job_.Clear();
  for (const PlacedLinear& input : net.inputs) {
    const WeightMatrix& weights = input.linear.weights;
    ASSIGN_OR_RETURN(const auto views, x.ViewsFor(weights.type, input.linear.name));
    job_.AddMatrix(MatrixOf(input.linear));
    for (int64_t i = 0; i < x.count(); ++i) {
      job_.AddVector(views[i], inputs_.row(i).subspan(input.at, weights.rows));
    }
  }
  return job_.Run();
}

void DeltaNetBlock::PrepareRow(const GatedDeltaNet& net, int64_t i) {
  const absl::Span<const float> inputs = inputs_.row(i);
  const absl::Span<float> mixed = mixed_.row(i);
  const absl::Span<float> factors = factors_.row(i);
  const size_t size = net.head_size;
  ApplySilu(mixed);
  const float query_scale = f32::Div(1.0f, f32::Sqrt(static_cast<float>(size)));
  for (int head = 0; head < net.num_key_heads; ++head) {
    NormalizeLength(graph_.norm_epsilon, query_scale, mixed.subspan(head * size, size));
    NormalizeLength(graph_.norm_epsilon, 1.0f, mixed.subspan(net.key_at() + head * size, size));
  }
  for (int head = 0; head < net.num_value_heads; ++head) {
    const size_t at = net.key_head_of[head] * size;
    const float step = f32::Softplus(f32::Add(inputs[net.alpha_at[head]], net.time_bias[head]));
    factors[head] = f32::Exp(f32::Mul(net.decay_rate[head], step));
    factors[net.num_value_heads + head] = f32::Sigmoid(inputs[net.beta_at[head]]);
    factors[2 * net.num_value_heads + head] =
        Dot(mixed.subspan(at, size), mixed.subspan(net.key_at() + at, size));
  }
}

void DeltaNetBlock::RunPiece(const GatedDeltaNet& net, int layer, absl::Span<const CpuRow> rows,
                             const Piece& piece) {
  const int64_t size = net.head_size;
  const int64_t block_values = DeltaMemory::BlockValues(size);
  const int64_t at = ConvolutionWindow::StateValues(net.convolution) +
                     piece.head * DeltaMemory::NumValues(size) + piece.block * block_values;
  const int64_t first_column = piece.block * DeltaMemory::kBlockColumns;
  const int64_t num_columns = std::min<int64_t>(size - first_column, DeltaMemory::kBlockColumns);
  const int64_t value_at = piece.head * size + first_column;
  const int64_t key_at = net.key_head_of[piece.head] * size;
  const RecurrentState& state = *rows[piece.first_row].recurrent;

  float* const after = state.After(layer) + at;
  const float* before = state.Before(layer);
  if (before == nullptr) {
    std::fill_n(after, block_values, 0.0f);
    before = after;
  } else {
    before += at;
  }
  std::array<float, DeltaMemory::kBlockColumns> value = {}, out;
  for (size_t i = piece.first_row;; ++i) {
    const absl::Span<const float> mixed = mixed_.row(i);
    const absl::Span<const float> factors = factors_.row(i);
    std::copy_n(&mixed[net.value_at() + value_at], num_columns, value.begin());
    ApplyDeltaRule({.size = size,
                    .query = &mixed[key_at],
                    .key = &mixed[net.key_at() + key_at],
                    .value = value.data(),
                    .query_dot_key = factors[2 * net.num_value_heads + piece.head],
                    .decay = factors[piece.head],
                    .beta = factors[net.num_value_heads + piece.head]},
                   before, after, out.data());
    std::copy_n(out.begin(), num_columns, &read_.row(i)[value_at]);
    before = after;
    if (rows[i].snapshot != RecurrentPool::kNoBuffer) {
      std::copy_n(after, block_values, state.Snapshot(rows[i].snapshot, layer) + at);
    }
    if (IsLastOfSequence(rows, i)) return;
  }
}

void DeltaNetBlock::FinishRow(const GatedDeltaNet& net, int64_t i) {
  const absl::Span<float> read = read_.row(i);
  const size_t size = net.head_size;
  for (int head = 0; head < net.num_value_heads; ++head) {
    const absl::Span<float> of_head = read.subspan(head * size, size);
    RmsNorm(of_head, net.output_norm, graph_.norm_epsilon, of_head);
  }
  ApplyGate(net.gate_activation,
            absl::MakeConstSpan(inputs_.row(i)).subspan(net.output_gate_at(), read.size()), read,
            read);
}

}  // namespace strata
