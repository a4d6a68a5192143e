#include "strata/generate/cpu/stream_mixer_block.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

int64_t StreamMixerBlock::WorkspaceBytes(const ModelGraph& graph, int64_t num_rows) {
  std::set<ActivationForm> inputs, low_inputs;
  int64_t rank = 0;
  const auto add = [&](const std::optional<StreamMixer>& mixer) {
    if (!mixer.has_value()) return;
    rank = std::max(rank, mixer->down.weights.rows);
    inputs.insert(*ActivationFormOf(mixer->down.weights.type));
    if (mixer->inject.has_value()) inputs.insert(*ActivationFormOf(mixer->inject->weights.type));
    low_inputs.insert(*ActivationFormOf(mixer->up.weights.type));
  };
  for (const Layer& layer : graph.layers) {
    add(layer.mixer_residual.streams);
    add(layer.feed_forward_residual.streams);
  }
  add(graph.output_mixer);
  if (rank == 0) return 0;
  int64_t bytes = 2 * Rows::BytesFor(num_rows, graph.state_width()) +
                  Rows::BytesFor(num_rows, rank) + Rows::BytesFor(num_rows, graph.num_streams);
  for (const ActivationForm form : inputs) {
    bytes += num_rows * ActivationBuffer::BytesFor(form, graph.state_width());
  }
  for (const ActivationForm form : low_inputs) {
    bytes += num_rows * ActivationBuffer::BytesFor(form, rank);
  }
  return bytes;
}

absl::Status StreamMixerBlock::Mix(const StreamMixer& mixer, int64_t count, StateOf state,
                                   Rows& out) {
  const int64_t num_streams = graph_.num_streams;
  normed_.Resize(count, graph_.state_width());
  pool_.ParallelFor(count * num_streams, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t item = piece.begin; item < piece.end; ++item) {
      const int64_t i = item / num_streams;
      const int64_t stream = item % num_streams;
      RmsNorm(StreamOf(state(i), stream), StreamOf(mixer.norm, stream), graph_.norm_epsilon,
              normed_.row(i).subspan(stream * graph_.width, graph_.width));
    }
  });
  normed_batch_.Assign(normed_);
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(mixer.down, normed_batch_, low_));
  if (mixer.inject.has_value()) {
    RETURN_IF_ERROR(job_.AddLinear(*mixer.inject, normed_batch_, shares_));
  }
  RETURN_IF_ERROR(job_.Run());
  for (int64_t i = 0; i < count; ++i) {
    ApplySilu(low_.row(i));
    if (!mixer.inject.has_value()) continue;
    for (float& share : shares_.row(i)) share = f32::Mul(2.0f, f32::Sigmoid(share));
  }
  low_batch_.Assign(low_);
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(mixer.up, low_batch_, gates_));
  RETURN_IF_ERROR(job_.Run([&](int /*matrix*/, RowRange rows) {
    const auto size = static_cast<size_t>(rows.end - rows.begin);
    for (int64_t i = 0; i < count; ++i) {
      const absl::Span<float> gates = gates_.row(i).subspan(rows.begin, size);
      ApplyGate(GatedActivation::kSigmoid, gates, normed_.row(i).subspan(rows.begin, size), gates);
    }
  }));
  out.Resize(count, graph_.width);
  pool_.ParallelFor(count, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const absl::Span<const float> seen = gates_.row(i);
      const absl::Span<float> mean = out.row(i);
      std::copy_n(seen.begin(), graph_.width, mean.begin());
      for (int64_t stream = 1; stream < num_streams; ++stream) {
        AddProduct(1.0f, StreamOf(seen, stream), mean);
      }
      Scale(f32::Div(1.0f, static_cast<float>(num_streams)), mean);
    }
  });
  return absl::OkStatus();
}

void StreamMixerBlock::AddResults(const Rows& results, Rows& state) {
  const int64_t num_streams = graph_.num_streams;
  pool_.ParallelFor(results.count() * num_streams, /*grain=*/1,
                    [&](const ThreadPool::Piece& piece) {
                      for (int64_t item = piece.begin; item < piece.end; ++item) {
                        const int64_t i = item / num_streams;
                        const int64_t stream = item % num_streams;
                        AddProduct(shares_.row(i)[stream], results.row(i),
                                   state.row(i).subspan(stream * graph_.width, graph_.width));
                      }
                    });
}

}  // namespace strata
