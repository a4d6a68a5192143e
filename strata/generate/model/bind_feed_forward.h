// The feed-forward part of a layer from a file: one for all tokens, or experts.
#ifndef STRATA_GENERATE_MODEL_BIND_FEED_FORWARD_H_
#define STRATA_GENERATE_MODEL_BIND_FEED_FORWARD_H_

#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

FeedForward BindFeedForward(const ModelConfig& config, int layer, TensorBinder& binder);

// `layout` has experts for the layer.
MixtureOfExperts BindExperts(const GgufFile& file, const ModelConfig& config,
                             const ExpertLayout& layout, const ModelFamily& family, int layer,
                             TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_FEED_FORWARD_H_
