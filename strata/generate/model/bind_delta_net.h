// Binds the gated delta net of a layer.
#ifndef STRATA_GENERATE_MODEL_BIND_DELTA_NET_H_
#define STRATA_GENERATE_MODEL_BIND_DELTA_NET_H_

#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// Of a model that has a recurrent state, the layers that attention.recurrent_layers names, or else
// all but each full_attention_interval-th, which is 4 where the file does not say. NextN blocks have
// attention.
bool IsDeltaNet(const ModelConfig& config, int layer);

// Projections are bound in the forms that exist: queries, keys and values beside output gates, or
// one tensor that holds all four of each key head in turn; betas and alphas apart, or together for
// each key head in turn. Errors are the binder's; kind hparams for sizes that cannot be.
GatedDeltaNet BindDeltaNet(const ModelConfig& config, const ModelFamily& family, int layer,
                           TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_DELTA_NET_H_
