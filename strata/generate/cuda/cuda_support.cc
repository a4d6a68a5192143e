#include "strata/generate/cuda/cuda_support.h"

#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

// What kernels take: kv_page.h.
constexpr int kMaxHeadSize = 512;
constexpr int kHeadSizeStep = 8;

absl::Status CannotRun(int layer, absl::string_view part) {
  return absl::UnimplementedError(
      absl::StrCat("no GPU kernels yet for ", part, " (layer ", layer, ")"));
}

class MixerCheck {
 public:
  explicit MixerCheck(int layer) : layer_(layer) {}

  absl::Status operator()(const SelfAttention& attention) const {
    if (attention.indexer.has_value()) return CannotRun(layer_, "attention to chosen blocks");
    if (attention.has_gate) return CannotRun(layer_, "gated attention");
    if (attention.values_are_keys) return CannotRun(layer_, "values that are keys");
    if (attention.norms_values) return CannotRun(layer_, "norms of values");
    if (attention.norm_scope == NormScope::kRotatedHead) {
      return CannotRun(layer_, "norms of queries and keys that were rotated");
    }
    for (const int size : {attention.key_size, attention.value_size}) {
      if (size % kHeadSizeStep != 0 || size > kMaxHeadSize) {
        return CannotRun(layer_, absl::StrCat("heads of ", size, " values"));
      }
    }
    return absl::OkStatus();
  }
  absl::Status operator()(const LatentAttention& /*attention*/) const {
    return CannotRun(layer_, "latent attention");
  }
  absl::Status operator()(const GatedDeltaNet& /*net*/) const {
    return CannotRun(layer_, "gated delta nets");
  }
  absl::Status operator()(const ShortConvolution& /*convolution*/) const {
    return CannotRun(layer_, "short convolutions");
  }

 private:
  const int layer_;
};

absl::Status CheckFeedForward(int layer, GatedActivation activation, bool has_norms) {
  if (has_norms) return CannotRun(layer, "experts beside a dense part with norms of their own");
  if (activation == GatedActivation::kGelu) return CannotRun(layer, "gelu");
  return absl::OkStatus();
}

absl::Status CheckLayer(int index, const Layer& layer) {
  RETURN_IF_ERROR(std::visit(MixerCheck(index), layer.mixer));
  for (const Residual* const residual : {&layer.mixer_residual, &layer.feed_forward_residual}) {
    if (residual->state_scale != 1.0f) return CannotRun(index, "a scale of the state");
  }
  if (const auto* const dense = std::get_if<FeedForward>(&layer.feed_forward)) {
    return CheckFeedForward(index, dense->activation, /*has_norms=*/false);
  }
  const MixtureOfExperts& experts = *CHECK_NOTNULL(ExpertsOf(layer));
  return CheckFeedForward(index, experts.activation, experts.norms.has_value());
}

}  // namespace

absl::Status CheckKernelsRun(const ModelGraph& graph) {
  if (graph.num_streams > 1) {
    return absl::UnimplementedError(
        absl::StrCat("no GPU kernels yet for a state of ", graph.num_streams, " streams"));
  }
  if (graph.ngrams.has_value()) return CannotRun(graph.ngrams->layer, "a table of n-grams");
  for (int layer = 0; layer < static_cast<int>(graph.layers.size()); ++layer) {
    RETURN_IF_ERROR(CheckLayer(layer, graph.layers[layer]));
  }
  if (graph.logit_cap != 0.0f) {
    return absl::UnimplementedError("no GPU kernels yet for logits with a cap");
  }
  return absl::OkStatus();
}

const SelfAttention& AttentionOf(const Layer& layer) {
  return *CHECK_NOTNULL(std::get_if<SelfAttention>(&layer.mixer));
}

}  // namespace strata
