#include "strata/generate/model/bind_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/generate/model/bind_attention.h"
#include "strata/generate/model/bind_delta_net.h"
#include "strata/generate/model/bind_feed_forward.h"
#include "strata/generate/model/bind_latent_attention.h"
#include "strata/generate/model/bind_ngrams.h"
#include "strata/generate/model/bind_rotation.h"
#include "strata/generate/model/bind_short_convolution.h"
#include "strata/generate/model/bind_streams.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

bool HasAny(const std::vector<double>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](double number) { return number != 0; });
}

// Before the metadata is read, so that the error lists what can be run and not what can be read.
absl::Status CheckArchitecture(const GgufFile& file) {
  const GgufValue* const value = file.FindKey("general.architecture");
  if (value == nullptr) return absl::OkStatus();
  const std::optional<absl::string_view> name = value->AsString();
  if (!name.has_value() || FindModelFamily(*name) != nullptr) return absl::OkStatus();
  return InputError("unsupported_arch", file.path(),
                    absl::StrCat("general.architecture is '", Printable(*name, 80),
                                 "'; the families that can be run are ", ModelFamilyNames()));
}

// Keys that change what a model computes, in a way that nothing here does.
absl::Status CheckNothingIsLeftOut(const GgufFile& file, const ModelConfig& config) {
  const std::pair<absl::string_view, bool> parts[] = {
      {"attention.clamp_kqv", config.attention.clamp_kqv != 0},
      {"attention.shared_kv_layers", config.attention.shared_kv_layers != 0},
      {"attention.temperature_scale", config.attention.temperature_scale != 0},
      {"attention.indexer.top_k",
       config.attention.indexer_top_k != 0 && config.attention.compress_ratios.empty()},
      {"attn_logit_softcapping", config.scales.attn_logit_softcapping != 0},
      {"router_logit_softcapping", config.scales.router_logit_softcapping != 0},
      {"hyper_connection.count",
       config.streams.hyper_connection_count != 0 && config.streams.hyper_connection_low_rank == 0},
      {"embedding_length_per_layer_input",
       config.streams.embedding_length_per_layer_input != 0 && config.ngrams.layers.empty()},
      {"expert_chunk_feed_forward_length", config.experts.chunk_feed_forward_length != 0},
      {"expert_latent_length", config.experts.latent_length != 0},
      {"hash_layer_count", config.experts.hash_layer_count != 0},
      {"swiglu_clamp_exp", HasAny(config.experts.swiglu_clamp_exp)},
      {"swiglu_clamp_shexp", HasAny(config.experts.swiglu_clamp_shexp)},
  };
  for (const auto& [key, is_set] : parts) {
    if (!is_set) continue;
    return InputError(
        "hparams", file.path(),
        absl::StrCat(config.architecture->name, ".", key, " is set, which cannot be run"));
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const GgufFile& file, const ModelConfig& config,
                          const ModelFamily& family) {
  if (config.attention.layer_norm_rms_epsilon <= 0) {
    return InputError("hparams", file.path(), "attention.layer_norm_rms_epsilon is not positive");
  }
  if (family.needs_window && config.attention.sliding_window == 0) {
    return InputError("hparams", file.path(),
                      absl::StrCat(family.architecture, ".attention.sliding_window is not there"));
  }
  const auto pattern = static_cast<int64_t>(config.attention.sliding_window_pattern.size());
  if (pattern > 1 && pattern < config.trunk_layers()) {
    return InputError("hparams", file.path(),
                      absl::StrCat("attention.sliding_window_pattern has ", pattern,
                                   " elements for ", config.trunk_layers(), " layers"));
  }
  return CheckNothingIsLeftOut(file, config);
}

float OneIfZero(double factor) { return factor == 0 ? 1.0f : static_cast<float>(factor); }

class ModelBinder {
 public:
  ModelBinder(const GgufFile& file, const ModelConfig& config, const ExpertLayout& layout)
      : file_(file),
        config_(config),
        layout_(layout),
        family_(*FindModelFamily(config.architecture->name)),
        binder_(file) {}

  absl::StatusOr<ModelGraph> Bind() {
    ModelGraph graph;
    BindNumbers(graph);
    BindEnds(graph);
    for (int layer = 0; layer < config_.trunk_layers() && binder_.status().ok(); ++layer) {
      graph.layers.push_back(BindLayer(layer, binder_));
    }
    if (!config_.ngrams.layers.empty()) graph.ngrams = BindNgrams(file_, config_, binder_);
    RETURN_IF_ERROR(binder_.status());
    graph.experts = layout_;
    BindNextTokenBlocks(graph);
    AddMissingNorms(graph);
    AddUnusedTensors(graph);
    return graph;
  }

 private:
  void BindNumbers(ModelGraph& graph) {
    graph.width = config_.embedding_length;
    graph.context_length = config_.context_length;
    graph.norm_epsilon = static_cast<float>(config_.attention.layer_norm_rms_epsilon);
    graph.embedding_scale = family_.scales_embedding ? std::sqrt(static_cast<float>(graph.width))
                                                     : OneIfZero(config_.scales.embedding);
    graph.logit_cap = static_cast<float>(config_.scales.final_logit_softcapping);
    graph.logit_scale = OneIfZero(config_.scales.logit);
    graph.num_streams = NumStreams(config_, binder_);
    rotations_ = BindRotations(config_, family_, binder_);
    graph.rotations = rotations_.all;
  }

  // The vocabulary is as large as its embedding, whatever the metadata says.
  void BindEnds(ModelGraph& graph) {
    if (const GgufTensor* embedding = file_.FindTensor("token_embd.weight")) {
      graph.vocabulary = embedding->all_dims[1];
    }
    graph.embedding = binder_.Table("token_embd.weight", graph.width, graph.vocabulary);
    if (graph.num_streams > 1) {
      graph.output_mixer = BindStreamMixer(config_, "output_hc", /*has_inject=*/false, binder_);
    } else {
      graph.output_norm =
          binder_.Values(absl::StrCat(family_.output_norm, ".weight"), {graph.width});
    }
    const bool tied = !family_.needs_output && !binder_.Has("output.weight");
    graph.output = binder_.Matrix(tied ? "token_embd" : "output", graph.width, graph.vocabulary);
  }

  Layer BindLayer(int layer, TensorBinder& binder) {
    const std::string block = absl::StrCat("blk.", layer, ".");
    Layer bound;
    bound.mixer_residual = BindResidual(block, "attn_norm", "hc_attn", binder);
    bound.mixer = BindMixer(layer, binder);
    bound.feed_forward_residual = BindResidual(block, family_.feed_forward_norm, "hc_ffn", binder);
    if (family_.norms_and_scales_results) BindResults(block, binder, bound);
    if (layout_.HasExperts(layer)) {
      bound.feed_forward = BindExperts(file_, config_, layout_, family_, layer, binder);
      if (family_.has_dense_beside_experts) TakeNormBefore(bound);
    } else {
      bound.feed_forward = BindFeedForward(config_, layer, binder);
    }
    return bound;
  }

  void BindResults(const std::string& block, TensorBinder& binder, Layer& bound) {
    const int64_t width = config_.embedding_length;
    bound.mixer_residual.norm_after = binder.Values(block + "post_attention_norm.weight", {width});
    bound.feed_forward_residual.norm_after = binder.Values(block + "post_ffw_norm.weight", {width});
    const std::vector<float> scale = binder.Values(block + "layer_output_scale.weight", {1});
    if (!scale.empty()) bound.feed_forward_residual.state_scale = scale[0];
  }

  // The norm before the feed-forward is then that of one of its parts.
  static void TakeNormBefore(Layer& bound) {
    std::get<MixtureOfExperts>(bound.feed_forward).norms->shared_before =
        std::exchange(bound.feed_forward_residual.norm_before, {});
  }

  Mixer BindMixer(int layer, TensorBinder& binder) {
    if (IsShortConvolution(config_, layer)) return BindShortConvolution(config_, layer, binder);
    if (IsDeltaNet(config_, layer)) return BindDeltaNet(config_, family_, layer, binder);
    if (config_.attention.kv_lora_rank > 0) {
      return BindLatentAttention(config_, family_, layer, rotations_.of_full_layers, binder);
    }
    const bool has_window = HasWindow(config_.attention, family_, layer);
    return BindSelfAttention(config_, family_, layer,
                             has_window ? rotations_.of_windows : rotations_.of_full_layers,
                             binder);
  }

  // From a norm, or from a mixer where there are streams.
  Residual BindResidual(const std::string& block, absl::string_view norm, absl::string_view mixer,
                        TensorBinder& binder) {
    if (config_.streams.hyper_connection_count > 0) {
      return {.streams = BindStreamMixer(config_, absl::StrCat(block, mixer),
                                         /*has_inject=*/true, binder)};
    }
    return {.norm_before =
                binder.Values(absl::StrCat(block, norm, ".weight"), {config_.embedding_length}),
            .scale = OneIfZero(config_.scales.residual)};
  }

  // Nothing runs them yet, so one that is not whole is left out and does not stop the model.
  void BindNextTokenBlocks(ModelGraph& graph) {
    for (int64_t layer = config_.trunk_layers(); layer < config_.block_count; ++layer) {
      const std::string stem = absl::StrCat("blk.", layer, ".");
      if (!binder_.Has(stem + "nextn.eh_proj.weight")) break;
      TensorBinder binder(file_);
      NextTokenBlock block = BindNextTokenBlock(graph, stem, binder);
      block.layer = BindLayer(static_cast<int>(layer), binder);
      if (!binder.status().ok()) {
        graph.remarks.push_back(absl::StrCat("the next-token block ", layer,
                                             " is left out: ", binder.status().message()));
        break;
      }
      binder_.AddTaken(binder);
      graph.next_token_blocks.push_back(std::move(block));
    }
  }

  NextTokenBlock BindNextTokenBlock(const ModelGraph& graph, const std::string& block_stem,
                                    TensorBinder& binder) {
    const std::string stem = block_stem + "nextn.";
    NextTokenBlock block;
    block.embedding_norm = binder.Values(stem + "enorm.weight", {graph.width});
    block.hidden_norm = binder.Values(stem + "hnorm.weight", {graph.width});
    block.join = binder.Matrix(stem + "eh_proj", 2 * graph.width, graph.width);
    // Some writers give the last norm the name of a layer's.
    const bool is_layers = binder.Has(block_stem + "layer_output_norm.weight");
    block.output_norm = binder.Values(
        is_layers ? block_stem + "layer_output_norm.weight" : stem + "shared_head_norm.weight",
        {graph.width}, Need::kOptional);
    if (binder.Has(stem + "embed_tokens.weight")) {
      block.embedding = binder.Table(stem + "embed_tokens.weight", graph.width, graph.vocabulary);
    }
    if (binder.Has(stem + "shared_head_head.weight")) {
      block.output = binder.Matrix(stem + "shared_head_head", graph.width, graph.vocabulary);
    }
    return block;
  }

  // Of what is bound: a next-token block that is left out has its own remark.
  void AddMissingNorms(ModelGraph& graph) {
    if (!family_.needs_query_key_norm || HasQueryKeyNorms(config_, binder_)) return;
    graph.remarks.push_back(
        absl::StrCat("the file has no norms of queries and keys, which models of ",
                     family_.architecture, " have; it may not compute what the file was made for"));
  }

  void AddUnusedTensors(ModelGraph& graph) {
    constexpr size_t kNamed = 5;
    const int64_t num_blocks =
        config_.trunk_layers() + static_cast<int64_t>(graph.next_token_blocks.size());
    std::vector<std::string> unused;
    for (const GgufTensor& tensor : file_.tensors()) {
      const TensorPlace place = ClassifyTensor(tensor.name);
      if (place.block >= num_blocks || place.kind == TensorKind::kExpert) continue;
      if (IsQuantizationScale(tensor.name) || binder_.HasTaken(tensor.name)) continue;
      unused.push_back(Printable(tensor.name, 80));
    }
    if (unused.empty()) return;
    const size_t named = std::min(unused.size(), kNamed);
    graph.remarks.push_back(absl::StrCat(
        "no part of the model uses ",
        absl::StrJoin(unused.begin(), unused.begin() + static_cast<ptrdiff_t>(named), ", "),
        unused.size() > named ? absl::StrCat(" and ", unused.size() - named, " tensors more") : "",
        "; it may not compute what the file was made for"));
  }

  const GgufFile& file_;
  const ModelConfig& config_;
  const ExpertLayout& layout_;
  const ModelFamily& family_;
  TensorBinder binder_;
  Rotations rotations_;
};

}  // namespace

absl::StatusOr<ModelGraph> BindModel(const GgufFile& file) {
  RETURN_IF_ERROR(CheckArchitecture(file));
  ASSIGN_OR_RETURN(const ModelConfig config, ModelConfig::Create(file));
  RETURN_IF_ERROR(CheckNumbers(file, config, *FindModelFamily(config.architecture->name)));
  ASSIGN_OR_RETURN(const ExpertLayout layout, ExpertLayout::Create(file, config));
  return ModelBinder(file, config, layout).Bind();
}

}  // namespace strata
