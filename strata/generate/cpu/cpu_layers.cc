#include "strata/generate/cpu/cpu_layers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/cpu/attention.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/delta_net_block.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/cpu/experts_block.h"
#include "strata/generate/cpu/feed_forward_block.h"
#include "strata/generate/cpu/latent_attention_block.h"
#include "strata/generate/cpu/ngram_block.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/cpu/self_attention_block.h"
#include "strata/generate/cpu/short_convolution_block.h"
#include "strata/generate/cpu/stream_mixer_block.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

std::vector<RotaryTable> MakeRotary(const ModelGraph& graph) {
  std::vector<RotaryTable> tables;
  for (const Rotation& rotation : graph.rotations) tables.emplace_back(rotation.angles);
  return tables;
}

// What one part of a layer needs beside the rows that all parts share.
class PartWorkspace {
 public:
  explicit PartWorkspace(int64_t num_rows) : num_rows_(num_rows) {}

  void Add(const SelfAttention& attention) {
    AddInputs({&attention.query, &attention.key});
    if (!attention.values_are_keys) AddInputs({&attention.value});
    if (attention.indexer.has_value()) {
      AddInputs({&attention.indexer->query, &attention.indexer->key});
    }
    attention_ = std::max(attention_, SelfAttentionBlock::WorkspaceBytes(attention, num_rows_));
  }
  void Add(const LatentAttention& attention) {
    AddInputs({&attention.compress, attention.query_compress.has_value()
                                        ? &*attention.query_compress
                                        : &attention.query});
    latent_attention_ =
        std::max(latent_attention_, LatentAttentionBlock::WorkspaceBytes(attention, num_rows_));
  }
  void Add(const GatedDeltaNet& net) {
    for (const PlacedLinear& input : net.inputs) AddInputs({&input.linear});
    delta_net_ = std::max(delta_net_, DeltaNetBlock::WorkspaceBytes(net, num_rows_));
  }
  void Add(const ShortConvolution& part) {
    AddInputs({&part.input});
    short_convolution_ =
        std::max(short_convolution_, ShortConvolutionBlock::WorkspaceBytes(part, num_rows_));
  }
  void Add(const FeedForward& dense) {
    AddInputs({&dense.gate, &dense.up});
    dense_ = std::max(dense_, FeedForwardBlock::WorkspaceBytes(dense, num_rows_));
  }
  void Add(const MixtureOfExperts& experts) {
    if (!experts.norms.has_value()) {  // Else the block norms and quantizes what its parts see.
      AddInputs({&experts.router});
      AddInput(experts.gate.type);
      AddInput(experts.up.type);
      if (experts.shared.has_value()) AddInputs({&experts.shared->gate, &experts.shared->up});
    }
    experts_ = std::max(experts_, ExpertsBlock::WorkspaceBytes(experts, num_rows_));
  }

  // The largest need of each kind, and the parts' input of this width.
  int64_t bytes(int64_t width) const {
    int64_t bytes =
        attention_ + latent_attention_ + delta_net_ + short_convolution_ + dense_ + experts_;
    for (const ActivationForm form : inputs_) {
      bytes += num_rows_ * ActivationBuffer::BytesFor(form, width);
    }
    return bytes;
  }

 private:
  void AddInputs(absl::Span<const Linear* const> linears) {
    for (const Linear* const linear : linears) AddInput(linear->weights.type);
  }
  void AddInput(BlockType type) { inputs_.insert(*ActivationFormOf(type)); }

  const int64_t num_rows_;
  int64_t attention_ = 0;
  int64_t latent_attention_ = 0;
  int64_t delta_net_ = 0;
  int64_t short_convolution_ = 0;
  int64_t dense_ = 0;
  int64_t experts_ = 0;
  std::set<ActivationForm> inputs_;
};

}  // namespace

CpuLayers::CpuLayers(const ModelGraph& graph, ThreadPool& pool, ExpertWeights& experts)
    : graph_(graph),
      pool_(pool),
      experts_(experts),
      rotary_(MakeRotary(graph)),
      stream_mixer_block_(graph, pool),
      ngram_block_(graph, pool),
      attention_block_(graph, rotary_, pool),
      latent_attention_block_(graph, rotary_, pool),
      delta_net_block_(graph, pool),
      short_convolution_block_(pool),
      feed_forward_block_(pool),
      experts_block_(graph.norm_epsilon, pool),
      batch_(pool),
      output_job_(pool) {}

int64_t CpuLayers::workspace_bytes() const {
  return x_.bytes() + normed_.bytes() + part_out_.bytes() + hidden_.bytes() + logits_.bytes() +
         batch_.bytes() + stream_mixer_block_.workspace_bytes() + ngram_block_.workspace_bytes() +
         attention_block_.workspace_bytes() + latent_attention_block_.workspace_bytes() +
         delta_net_block_.workspace_bytes() + short_convolution_block_.workspace_bytes() +
         feed_forward_block_.workspace_bytes() + experts_block_.workspace_bytes();
}

int64_t CpuLayers::WorkspaceBytes(const ModelGraph& graph, int64_t num_rows) {
  PartWorkspace parts(num_rows);
  for (const Layer& layer : graph.layers) {
    std::visit([&](const auto& mixer) { parts.Add(mixer); }, layer.mixer);
    std::visit([&](const auto& part) { parts.Add(part); }, layer.feed_forward);
  }
  return Rows::BytesFor(num_rows, graph.state_width()) + 2 * Rows::BytesFor(num_rows, graph.width) +
         Rows::BytesFor(1, graph.vocabulary) + StreamMixerBlock::WorkspaceBytes(graph, num_rows) +
         NgramBlock::WorkspaceBytes(graph, num_rows) + parts.bytes(graph.width);
}

void CpuLayers::Begin(const Step& step) {
  step_ = step;
  output_rows_.clear();
  int64_t num_positions = 0;
  for (size_t i = 0; i < step.rows.size(); ++i) {
    if (step.rows[i].wants_output) output_rows_.push_back(static_cast<int64_t>(i));
    num_positions = std::max(num_positions, step.rows[i].position + 1);
  }
  for (RotaryTable& table : rotary_) table.ExtendTo(num_positions);
  routing_.num_rows = static_cast<int>(step.rows.size());
  routing_.num_chosen = graph_.experts.num_used();
  routing_.experts.clear();
  hidden_.Resize(0, graph_.width);
  logits_.Resize(0, graph_.vocabulary);
}

absl::Status CpuLayers::Embed(const ModelGraph& graph) {
  if (graph.ngrams.has_value()) ngram_block_.Fetch(*graph.ngrams, ngram_part(), step_.rows);
  x_.Resize(static_cast<int64_t>(step_.rows.size()), graph.state_width());
  pool_.ParallelFor(x_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const TokenId token = step_.rows[static_cast<size_t>(i)].token;
      CHECK(0 <= token && token < graph.vocabulary) << token;
      const absl::Span<float> first = x_.row(i).subspan(0, graph.width);
      DecodeRow(graph.embedding.type, graph.embedding.row(token), first);
      if (graph.embedding_scale != 1.0f) Scale(graph.embedding_scale, first);
      for (int64_t stream = 1; stream < graph.num_streams; ++stream) {
        std::copy(first.begin(), first.end(), x_.row(i).begin() + stream * graph.width);
      }
    }
  });
  return absl::OkStatus();
}

absl::Status CpuLayers::AddNgrams(const NgramEmbedding& ngrams) {
  return ngram_block_.Run(ngrams, ngram_part(), step_.rows, x_);
}

absl::Status CpuLayers::Mix(int layer, const Residual& residual, const SelfAttention& attention) {
  RETURN_IF_ERROR(EnterPart(residual));
  RETURN_IF_ERROR(attention_block_.Run(attention, layer, step_.rows, batch_, part_out_));
  if (observer_ != nullptr && attention.indexer.has_value()) ShowSelectedBlocks(layer);
  LeavePart(residual);
  return absl::OkStatus();
}

absl::Status CpuLayers::Mix(int layer, const Residual& residual, const LatentAttention& attention) {
  RETURN_IF_ERROR(EnterPart(residual));
  RETURN_IF_ERROR(latent_attention_block_.Run(attention, layer, step_.rows, batch_, part_out_));
  LeavePart(residual);
  return absl::OkStatus();
}

absl::Status CpuLayers::Mix(int layer, const Residual& residual, const GatedDeltaNet& net) {
  RETURN_IF_ERROR(EnterPart(residual));
  RETURN_IF_ERROR(delta_net_block_.Run(net, layer, step_.rows, batch_, part_out_));
  LeavePart(residual);
  return absl::OkStatus();
}

absl::Status CpuLayers::Mix(int layer, const Residual& residual,
                            const ShortConvolution& convolution) {
  RETURN_IF_ERROR(EnterPart(residual));
  RETURN_IF_ERROR(short_convolution_block_.Run(convolution, layer, step_.rows, batch_, part_out_));
  LeavePart(residual);
  return absl::OkStatus();
}

absl::Status CpuLayers::Feed(int /*layer*/, const Residual& residual, const FeedForward& dense) {
  RETURN_IF_ERROR(EnterPart(residual));
  RETURN_IF_ERROR(feed_forward_block_.Run(dense, batch_, part_out_));
  LeavePart(residual);
  return absl::OkStatus();
}

absl::Status CpuLayers::Feed(int layer, const Residual& residual, const MixtureOfExperts& experts) {
  RETURN_IF_ERROR(EnterPart(residual));
  RETURN_IF_ERROR(experts_block_.Run(layer, experts, experts_, batch_, part_out_));
  for (const ExpertChoice& choice : experts_block_.chosen()) {
    routing_.experts.push_back(static_cast<uint16_t>(choice.expert));
  }
  expert_bytes_ += experts_block_.bytes_read();
  LeavePart(residual);
  return absl::OkStatus();
}

absl::Status CpuLayers::EndLayer(int layer) {
  if (observer_ != nullptr) {
    for (int64_t i = 0; i < x_.count(); ++i) {
      observer_->OnLayerOutput(layer, step_.rows[static_cast<size_t>(i)].position, x_.row(i));
    }
  }
  if (step_.should_stop == nullptr || !(*step_.should_stop)()) return absl::OkStatus();
  return absl::CancelledError("the step was asked to stop");
}

absl::Status CpuLayers::Output(const ModelGraph& graph) {
  if (step_.wants_hidden) {
    RETURN_IF_ERROR(EnterOutput(
        x_.count(), [&](int64_t i) { return x_.row(i); }, hidden_));
  }
  if (output_rows_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(EnterOutput(
      static_cast<int64_t>(output_rows_.size()),
      [&](int64_t i) { return x_.row(output_rows_[static_cast<size_t>(i)]); }, normed_));
  batch_.Assign(normed_);
  output_job_.Clear();
  RETURN_IF_ERROR(output_job_.AddLinear(graph.output, batch_, logits_));
  RETURN_IF_ERROR(output_job_.Run());
  for (int64_t i = 0; i < logits_.count(); ++i) {
    if (graph.logit_scale != 1.0f) {
      for (float& logit : logits_.row(i)) logit = f32::Div(logit, graph.logit_scale);
    }
    if (graph.logit_cap != 0.0f) CapSoftly(graph.logit_cap, logits_.row(i));
  }
  return absl::OkStatus();
}

absl::Status CpuLayers::EnterPart(const Residual& residual) {
  const auto state = [&](int64_t i) { return absl::Span<const float>(x_.row(i)); };
  if (residual.streams.has_value()) {
    RETURN_IF_ERROR(stream_mixer_block_.Mix(*residual.streams, x_.count(), state, normed_));
  } else if (residual.norm_before.empty()) {
    batch_.Assign(x_);
    return absl::OkStatus();
  } else {
    Norm(residual.norm_before, x_.count(), state, normed_);
  }
  batch_.Assign(normed_);
  return absl::OkStatus();
}

void CpuLayers::ShowSelectedBlocks(int layer) const {
  for (size_t i = 0; i < step_.rows.size(); ++i) {
    const std::optional<BlockSelection> selection =
        attention_block_.selector().Of(static_cast<int64_t>(i));
    if (!selection.has_value()) continue;
    observer_->OnBlocksSelected(layer, step_.rows[i].position, selection->blocks);
  }
}

absl::Status CpuLayers::EnterOutput(int64_t count, RowOf from, Rows& to) {
  if (graph_.output_mixer.has_value()) {
    return stream_mixer_block_.Mix(*graph_.output_mixer, count, from, to);
  }
  Norm(graph_.output_norm, count, from, to);
  return absl::OkStatus();
}

void CpuLayers::LeavePart(const Residual& residual) {
  if (residual.streams.has_value()) {
    stream_mixer_block_.AddResults(part_out_, x_);
    return;
  }
  pool_.ParallelFor(x_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const absl::Span<float> out = part_out_.row(i);
      if (!residual.norm_after.empty()) RmsNorm(out, residual.norm_after, graph_.norm_epsilon, out);
      AddProduct(residual.scale, out, x_.row(i));
      if (residual.state_scale != 1.0f) Scale(residual.state_scale, x_.row(i));
    }
  });
}

void CpuLayers::Norm(const std::vector<float>& weight, int64_t count, RowOf from, Rows& to) {
  to.Resize(count, graph_.width);
  pool_.ParallelFor(count, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      RmsNorm(from(i), weight, graph_.norm_epsilon, to.row(i));
    }
  });
}

}  // namespace strata
