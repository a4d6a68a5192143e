// Self-attention of a layer, and the rotation that all layers share, from a file.
#ifndef STRATA_GENERATE_MODEL_BIND_ATTENTION_H_
#define STRATA_GENERATE_MODEL_BIND_ATTENTION_H_

#include <optional>

#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// `rotation` is an index of the graph's, or SelfAttention::kNoRotation.
SelfAttention BindSelfAttention(const ModelConfig& config, const ModelFamily& family, int layer,
                                int rotation, TensorBinder& binder);

// None for models without.
std::optional<Rotation> BindRotation(const ModelConfig& config, const ModelFamily& family,
                                     TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_ATTENTION_H_
