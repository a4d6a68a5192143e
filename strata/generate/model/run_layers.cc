#include "strata/generate/model/run_layers.h"

#include <variant>

#include "absl/status/status.h"
#include "strata/core/status_macros.h"
#include "strata/generate/model/layer_ops.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

absl::Status RunLayers(const ModelGraph& graph, LayerOps& ops) {
  RETURN_IF_ERROR(ops.Embed(graph));
  for (int index = 0; index < static_cast<int>(graph.layers.size()); ++index) {
    const Layer& layer = graph.layers[index];
    if (graph.ngrams.has_value() && graph.ngrams->layer == index) {
      RETURN_IF_ERROR(ops.AddNgrams(*graph.ngrams));
    }
    RETURN_IF_ERROR(
        std::visit([&](const auto& mixer) { return ops.Mix(index, layer.mixer_residual, mixer); },
                   layer.mixer));
    RETURN_IF_ERROR(std::visit(
        [&](const auto& part) { return ops.Feed(index, layer.feed_forward_residual, part); },
        layer.feed_forward));
    RETURN_IF_ERROR(ops.EndLayer(index));
  }
  return ops.Output(graph);
}

}  // namespace strata
