#include "strata/generate/engine/engine.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/kv_cache.h"
#include "strata/generate/engine/product_job.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/engine/self_attention_block.h"
#include "strata/generate/kernels/blocks/decode.h"
#include "strata/generate/kernels/numerics.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

// A layer's place in the cache is its number: every mixer so far has keys and values.
std::vector<KvShape> KvShapes(const ModelGraph& graph) {
  std::vector<KvShape> shapes;
  for (const Layer& layer : graph.layers) {
    shapes.push_back(KvShapeOf(std::get<SelfAttention>(layer.mixer)));
  }
  return shapes;
}

std::optional<RotaryTable> MakeRotary(const ModelGraph& graph) {
  if (!graph.rotary.has_value()) return std::nullopt;
  return RotaryTable(*graph.rotary);
}

}  // namespace

Engine::Engine(const GgufFile& file, const ModelGraph& graph, const Options& options,
               ExpertWeights* experts)
    : file_(file),
      graph_(graph),
      max_context_(options.max_context > 0 ? options.max_context : graph.context_length),
      pool_(options.num_threads),
      cache_(options.kv_type, KvShapes(graph)),
      rotary_(MakeRotary(graph)),
      attention_block_(graph, rotary_.has_value() ? &*rotary_ : nullptr, cache_, pool_),
      feed_forward_block_(pool_),
      experts_(experts == nullptr ? mapped_experts_ : *experts),
      experts_block_(pool_),
      batch_(pool_),
      output_job_(pool_) {}

int64_t Engine::Rewind(int64_t position) {
  CHECK(0 <= position && position <= cache_.size()) << position;
  cache_.SetSize(position);
  return position;
}

int64_t Engine::workspace_bytes() const {
  return x_.bytes() + normed_.bytes() + block_out_.bytes() + logits_.bytes() + batch_.bytes() +
         attention_block_.workspace_bytes() + feed_forward_block_.workspace_bytes() +
         experts_block_.workspace_bytes();
}

absl::StatusOr<const Rows*> Engine::Step(absl::Span<const TokenId> tokens, Want want) {
  const int64_t end = position() + static_cast<int64_t>(tokens.size());
  CHECK(!tokens.empty());
  CHECK_LE(end, max_context_);
  cache_.Reserve(end);
  if (rotary_.has_value()) rotary_->ExtendTo(end);
  experts_.BeginStep();
  const absl::Status status = RunStep(tokens, want);
  experts_.EndStep(status);
  RETURN_IF_ERROR(status);
  cache_.SetSize(end);
  return &logits_;
}

absl::Status Engine::RunStep(absl::Span<const TokenId> tokens, Want want) {
  absl::Status status = RunLayers(tokens);
  logits_.Resize(0, graph_.vocabulary);
  if (status.ok() && want != Want::kNothing) {
    status = ComputeLogits(want == Want::kAllLogits ? 0 : x_.count() - 1);
  }
  // Bytes that went missing while they were read explain whatever else went wrong.
  RETURN_IF_ERROR(file_.CheckUnchanged());
  return status.ok() ? status : WithFile(status, file_.path());
}

void Engine::EndPrompt() {
  experts_block_.UseMemory({});
  experts_.EndPrompt();
}

absl::Status Engine::RunLayers(absl::Span<const TokenId> tokens) {
  Embed(tokens);
  for (int layer = 0; layer < static_cast<int>(graph_.layers.size()); ++layer) {
    RETURN_IF_ERROR(RunLayer(layer, position()));
    if (observer_ == nullptr) continue;
    for (int64_t i = 0; i < x_.count(); ++i) {
      observer_->OnLayerOutput(layer, position() + i, x_.row(i));
    }
  }
  return absl::OkStatus();
}

void Engine::Embed(absl::Span<const TokenId> tokens) {
  x_.Resize(static_cast<int64_t>(tokens.size()), graph_.width);
  pool_.ParallelFor(x_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const TokenId token = tokens[static_cast<size_t>(i)];
      CHECK(0 <= token && token < graph_.vocabulary) << token;
      DecodeRow(graph_.embedding.type, graph_.embedding.row(token), x_.row(i));
      if (graph_.embedding_scale != 1.0f) Scale(graph_.embedding_scale, x_.row(i));
    }
  });
}

absl::Status Engine::RunLayer(int index, int64_t first_position) {
  const Layer& layer = graph_.layers[index];
  Norm(layer.mixer_norm);
  RETURN_IF_ERROR(attention_block_.Run(std::get<SelfAttention>(layer.mixer), index, first_position,
                                       batch_, block_out_));
  AddResidual();
  Norm(layer.feed_forward_norm);
  if (const auto* dense = std::get_if<FeedForward>(&layer.feed_forward)) {
    RETURN_IF_ERROR(feed_forward_block_.Run(*dense, batch_, block_out_));
  } else {
    RETURN_IF_ERROR(
        RunExperts(std::get<MixtureOfExperts>(layer.feed_forward), index, first_position));
  }
  AddResidual();
  return absl::OkStatus();
}

absl::Status Engine::RunExperts(const MixtureOfExperts& experts, int index,
                                int64_t first_position) {
  RETURN_IF_ERROR(experts_block_.Run(index, experts, experts_, batch_, block_out_));
  counters_.routed += batch_.count() * experts.routing.num_chosen;
  counters_.expert_bytes += experts_block_.bytes_read();
  for (int64_t i = 0; i < batch_.count(); ++i) {
    experts_.CountRouting(index, experts_block_.chosen(i));
    if (observer_ == nullptr) continue;
    observer_->OnRouting(index, first_position + i, experts_block_.chosen(i));
  }
  return absl::OkStatus();
}

void Engine::AddResidual() {
  pool_.ParallelFor(x_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      AddProduct(graph_.residual_scale, block_out_.row(i), x_.row(i));
    }
  });
}

void Engine::Norm(const std::vector<float>& weight, int64_t first_row) {
  normed_.Resize(x_.count() - first_row, graph_.width);
  pool_.ParallelFor(normed_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      RmsNorm(x_.row(first_row + i), weight, graph_.norm_epsilon, normed_.row(i));
    }
  });
  batch_.Assign(normed_);
}

absl::Status Engine::ComputeLogits(int64_t first_row) {
  Norm(graph_.output_norm, first_row);
  output_job_.Clear();
  RETURN_IF_ERROR(output_job_.AddLinear(graph_.output, batch_, logits_));
  RETURN_IF_ERROR(output_job_.Run());
  if (graph_.logit_scale == 1.0f) return absl::OkStatus();
  for (int64_t i = 0; i < logits_.count(); ++i) {
    for (float& logit : logits_.row(i)) logit = f32::Div(logit, graph_.logit_scale);
  }
  return absl::OkStatus();
}

}  // namespace strata
