// The order of a model, written once for all backends.
#ifndef STRATA_GENERATE_MODEL_RUN_LAYERS_H_
#define STRATA_GENERATE_MODEL_RUN_LAYERS_H_

#include "absl/status/status.h"
#include "strata/generate/model/layer_ops.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// Calls the operations of a step from the embedding to the logits. The first error ends it.
absl::Status RunLayers(const ModelGraph& graph, LayerOps& ops);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_RUN_LAYERS_H_
