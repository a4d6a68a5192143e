#include "strata/generate/cuda/cuda_support.h"

#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
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
    if (attention.has_gate) return CannotRun(layer_, "gated attention");
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

}  // namespace

absl::Status CheckKernelsRun(const ModelGraph& graph) {
  for (int layer = 0; layer < static_cast<int>(graph.layers.size()); ++layer) {
    RETURN_IF_ERROR(std::visit(MixerCheck(layer), graph.layers[layer].mixer));
  }
  return absl::OkStatus();
}

const SelfAttention& AttentionOf(const Layer& layer) {
  return *CHECK_NOTNULL(std::get_if<SelfAttention>(&layer.mixer));
}

}  // namespace strata
