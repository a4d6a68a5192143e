#include "strata/generate/model/bind_feed_forward.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/routing_options.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

// Both have the values of the key expert_gating_func.
static_assert(static_cast<int>(Gating::kSigmoid) == static_cast<int>(ExpertGating::kSigmoid));
static_assert(static_cast<int>(Gating::kSqrtSoftplus) ==
              static_cast<int>(ExpertGating::kSqrtSoftplus));

// Rows of a tensor that is a matrix of so many columns; 0 when it is none, or absent.
int64_t NumRows(const GgufFile& file, const std::string& name) {
  const GgufTensor* const tensor = file.FindTensor(name);
  return tensor == nullptr ? 0 : tensor->all_dims[1];
}

GatedActivation ActivationOf(const ModelConfig& config) {
  switch (config.experts.activation) {
    case ExpertActivation::kClampedSwiglu:
      return GatedActivation::kClampedSwiglu;
    case ExpertActivation::kGelu:
      return GatedActivation::kGelu;
    default:
      return GatedActivation::kSilu;
  }
}

FeedForward BindGated(const ModelConfig& config, const std::string& block, absl::string_view suffix,
                      int64_t inner, TensorBinder& binder) {
  const int64_t width = config.embedding_length;
  return {.activation = ActivationOf(config),
          .gate = binder.Matrix(absl::StrCat(block, "ffn_gate", suffix), width, inner),
          .up = binder.Matrix(absl::StrCat(block, "ffn_up", suffix), width, inner),
          .down = binder.Matrix(absl::StrCat(block, "ffn_down", suffix), inner, width)};
}

// The router is computed in f32 whatever its type: other types are decoded here, once.
void BindRouter(const std::string& block, const ModelConfig& config, const ModelFamily& family,
                Need bias, TensorBinder& binder, MixtureOfExperts& experts) {
  const int64_t width = config.embedding_length;
  if (family.has_dense_beside_experts) {  // `.scale` is then a weight of its input's norm.
    experts.router.name = block + "ffn_gate_inp.weight";
    experts.router.weights = binder.Table(experts.router.name, width, config.experts.count);
  } else {
    experts.router = binder.Matrix(block + "ffn_gate_inp", width, config.experts.count, bias);
  }
  WeightMatrix& weights = experts.router.weights;
  if (!binder.status().ok() || weights.type == BlockType::kF32) return;
  experts.router_as_f32.resize(weights.rows * weights.columns);
  DecodeRow(weights.type, weights.data, absl::MakeSpan(experts.router_as_f32));
  weights.type = BlockType::kF32;
  weights.data = reinterpret_cast<const std::byte*>(experts.router_as_f32.data());
}

void BindRouting(const std::string& block, const ModelConfig& config, const ModelFamily& family,
                 TensorBinder& binder, MixtureOfExperts& experts) {
  const ExpertConfig& from = config.experts;
  RouterOptions& routing = experts.routing;
  routing.gating = static_cast<Gating>(from.gating);
  routing.num_experts = static_cast<int>(from.count);
  routing.num_chosen = static_cast<int>(from.used_count);
  routing.normalize = from.weights_norm;
  routing.scale = static_cast<float>(from.weights_scale);
  if (from.group_count > 1) {
    routing.num_groups = static_cast<int>(from.group_count);
    routing.num_groups_used = static_cast<int>(from.group_used_count);
    if (from.used_count > from.count / from.group_count * from.group_used_count) {
      binder.Refuse("hparams", absl::StrCat("expert_used_count is ", from.used_count, "; ",
                                            from.group_used_count, " of ", from.group_count,
                                            " groups of ", from.count, " experts hold fewer"));
    }
  }
  // Some writers leave the suffix out.
  const bool has_suffix = !binder.Has(block + "exp_probs_b");
  routing.selection_bias =
      binder.Values(block + (has_suffix ? "exp_probs_b.bias" : "exp_probs_b"), {from.count},
                    family.needs_selection_bias ? Need::kRequired : Need::kOptional);
}

class ExpertBinder {
 public:
  ExpertBinder(const ExpertLayout& layout, int layer, Need bias, TensorBinder& binder)
      : layout_(layout), layer_(layer), bias_(bias), binder_(binder) {}

  void Bind(MixtureOfExperts& experts) {
    const absl::Span<const ExpertMatrix> matrices = layout_.Matrices(layer_);
    for (int i = 0; i < static_cast<int>(matrices.size()); ++i) {
      const ExpertSlice& slice = matrices[i].first;
      switch (slice.role) {
        case ExpertRole::kGate:
          experts.gate = BindRole(i, "ffn_gate_exps", 0, slice.num_rows);
          break;
        case ExpertRole::kUp:
          experts.up = BindRole(i, "ffn_up_exps", 0, slice.num_rows);
          break;
        case ExpertRole::kDown:
          experts.down = BindRole(i, "ffn_down_exps", 0, slice.num_rows);
          break;
        case ExpertRole::kGateUp:
          experts.gate = BindRole(i, "ffn_gate_up_exps", 0, slice.num_rows / 2);
          experts.up = BindRole(i, "ffn_gate_up_exps", slice.num_rows / 2, slice.num_rows / 2);
          break;
      }
    }
  }

 private:
  // `rows` rows from `first_row` on of the part of every expert's blob.
  ExpertLinears BindRole(int part, absl::string_view stem, int64_t first_row, int64_t rows) {
    const ExpertSlice& slice = layout_.Matrices(layer_)[part].first;
    const std::string tensor = absl::StrCat("blk.", layer_, ".", stem);
    ExpertLinears linears = {.name = tensor + ".weight",
                             .type = slice.type,
                             .rows = rows,
                             .columns = slice.row_length,
                             .part = part,
                             .offset = first_row * (slice.bytes / slice.num_rows)};
    binder_.CheckProductType(linears.name, slice.type);
    const int64_t num_experts = layout_.num_experts();
    linears.scales = binder_.Values(tensor + ".scale", {num_experts}, Need::kOptional);
    const std::vector<float> biases =
        binder_.Values(tensor + ".bias", {slice.num_rows, num_experts}, bias_);
    for (size_t at = first_row; at < biases.size(); at += slice.num_rows) {
      linears.biases.insert(linears.biases.end(), biases.begin() + at, biases.begin() + at + rows);
    }
    return linears;
  }

  const ExpertLayout& layout_;
  const int layer_;
  const Need bias_;
  TensorBinder& binder_;
};

// Keys that speak of shared experts mean something only in families that have them. The width is the
// tensors' own.
void BindShared(const GgufFile& file, const std::string& block, const ModelConfig& config,
                const ModelFamily& family, TensorBinder& binder, MixtureOfExperts& experts) {
  const bool is_needed =
      family.needs_shared_gate ||
      (family.needs_shared_expert &&
       (config.experts.shared_count > 0 || config.experts.shared_feed_forward_length > 0));
  if (!binder.Has(block + "ffn_gate_shexp.weight")) {
    if (is_needed) {
      binder.Refuse("tensor_missing", absl::StrCat("tensor ", block,
                                                   "ffn_gate_shexp.weight of the shared expert is "
                                                   "not there"));
    }
    return;
  }
  const int64_t inner = NumRows(file, block + "ffn_gate_shexp.weight");
  experts.shared = BindGated(config, block, "_shexp", inner, binder);
  if (!family.needs_shared_gate && !binder.Has(block + "ffn_gate_inp_shexp.weight")) return;
  experts.shared_gate =
      binder.Matrix(block + "ffn_gate_inp_shexp", config.embedding_length, /*rows=*/1);
}

// The norm before the dense part is the residual's, whoever binds it.
void BindDenseBeside(const ModelConfig& config, int layer, TensorBinder& binder,
                     MixtureOfExperts& experts) {
  const std::string block = absl::StrCat("blk.", layer, ".");
  const int64_t width = config.embedding_length;
  experts.shared = BindFeedForward(config, layer, binder);
  ExpertNorms& norms = experts.norms.emplace();
  norms.router = binder.Values(block + "ffn_gate_inp.scale", {width});
  for (float& weight : norms.router) weight /= std::sqrt(static_cast<float>(width));
  norms.routed_before = binder.Values(block + "pre_ffw_norm_2.weight", {width});
  norms.routed_after = binder.Values(block + "post_ffw_norm_2.weight", {width});
  norms.shared_after = binder.Values(block + "post_ffw_norm_1.weight", {width});
}

}  // namespace

FeedForward BindFeedForward(const ModelConfig& config, int layer, TensorBinder& binder) {
  return BindGated(config, absl::StrCat("blk.", layer, "."), "",
                   config.feed_forward_length.At(layer), binder);
}

MixtureOfExperts BindExperts(const GgufFile& file, const ModelConfig& config,
                             const ExpertLayout& layout, const ModelFamily& family, int layer,
                             TensorBinder& binder) {
  const std::string block = absl::StrCat("blk.", layer, ".");
  const Need bias = family.needs_biases ? Need::kRequired : Need::kOptional;
  MixtureOfExperts experts;
  experts.activation = ActivationOf(config);
  BindRouter(block, config, family, bias, binder, experts);
  BindRouting(block, config, family, binder, experts);
  ExpertBinder(layout, layer, bias, binder).Bind(experts);
  if (family.needs_expert_scales && experts.down.scales.empty()) {
    binder.Refuse("tensor_missing", absl::StrCat("tensor ", block, "ffn_down_exps.scale [",
                                                 config.experts.count, "] is not there"));
  }
  if (family.has_dense_beside_experts) {
    BindDenseBeside(config, layer, binder, experts);
  } else {
    BindShared(file, block, config, family, binder, experts);
  }
  return experts;
}

}  // namespace strata
