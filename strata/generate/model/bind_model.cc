#include "strata/generate/model/bind_model.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/generate/model/bind_attention.h"
#include "strata/generate/model/bind_delta_net.h"
#include "strata/generate/model/bind_feed_forward.h"
#include "strata/generate/model/bind_short_convolution.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

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

absl::Status CheckParts(const GgufFile& file, const ModelConfig& config) {
  if (config.attention.kv_lora_rank > 0) {
    return InputError("unsupported_arch", file.path(),
                      absl::StrCat(config.architecture->name, " with latent attention (",
                                   config.architecture->name,
                                   ".attention.kv_lora_rank) cannot be run yet; the families that "
                                   "can be run are ",
                                   ModelFamilyNames()));
  }
  if (config.attention.layer_norm_rms_epsilon <= 0) {
    return InputError("hparams", file.path(), "attention.layer_norm_rms_epsilon is not positive");
  }
  return absl::OkStatus();
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
      graph.layers.push_back(BindLayer(graph, layer));
    }
    RETURN_IF_ERROR(binder_.status());
    graph.experts = layout_;
    return graph;
  }

 private:
  void BindNumbers(ModelGraph& graph) {
    graph.width = config_.embedding_length;
    graph.context_length = config_.context_length;
    graph.norm_epsilon = static_cast<float>(config_.attention.layer_norm_rms_epsilon);
    graph.embedding_scale = OneIfZero(config_.scales.embedding);
    graph.logit_scale = OneIfZero(config_.scales.logit);
    if (std::optional<Rotation> rotation = BindRotation(config_, family_, binder_)) {
      graph.rotations.push_back(*std::move(rotation));
    }
  }

  // The vocabulary is as large as its embedding, whatever the metadata says.
  void BindEnds(ModelGraph& graph) {
    if (const GgufTensor* embedding = file_.FindTensor("token_embd.weight")) {
      graph.vocabulary = embedding->all_dims[1];
    }
    graph.embedding = binder_.Table("token_embd.weight", graph.width, graph.vocabulary);
    graph.output_norm = binder_.Values(absl::StrCat(family_.output_norm, ".weight"), {graph.width});
    const bool tied = !family_.needs_output && !binder_.Has("output.weight");
    graph.output = binder_.Matrix(tied ? "token_embd" : "output", graph.width, graph.vocabulary);
  }

  Layer BindLayer(const ModelGraph& graph, int layer) {
    const std::string block = absl::StrCat("blk.", layer, ".");
    Layer bound;
    bound.mixer_residual = BindResidual(block + "attn_norm.weight");
    bound.mixer = BindMixer(graph, layer);
    bound.feed_forward_residual =
        BindResidual(absl::StrCat(block, family_.feed_forward_norm, ".weight"));
    if (std::binary_search(layout_.layers().begin(), layout_.layers().end(), layer)) {
      bound.feed_forward = BindExperts(file_, config_, layout_, family_, layer, binder_);
    } else {
      bound.feed_forward = BindFeedForward(config_, layer, binder_);
    }
    return bound;
  }

  Mixer BindMixer(const ModelGraph& graph, int layer) {
    if (IsShortConvolution(config_, layer)) {
      return BindShortConvolution(config_, layer, binder_);
    }
    if (IsDeltaNet(config_, layer)) return BindDeltaNet(config_, family_, layer, binder_);
    const int rotation = graph.rotations.empty() ? SelfAttention::kNoRotation : 0;
    return BindSelfAttention(config_, family_, layer, rotation, binder_);
  }

  Residual BindResidual(const std::string& norm) {
    return {.norm_before = binder_.Values(norm, {config_.embedding_length}),
            .scale = OneIfZero(config_.scales.residual)};
  }

  const GgufFile& file_;
  const ModelConfig& config_;
  const ExpertLayout& layout_;
  const ModelFamily& family_;
  TensorBinder binder_;
};

}  // namespace

absl::StatusOr<ModelGraph> BindModel(const GgufFile& file) {
  RETURN_IF_ERROR(CheckArchitecture(file));
  ASSIGN_OR_RETURN(const ModelConfig config, ModelConfig::Create(file));
  RETURN_IF_ERROR(CheckParts(file, config));
  ASSIGN_OR_RETURN(const ExpertLayout layout, ExpertLayout::Create(file, config));
  return ModelBinder(file, config, layout).Bind();
}

}  // namespace strata
