// Self-attention of a layer, and the rotation that all layers share, from a file.
#ifndef STRATA_GENERATE_MODEL_BIND_ATTENTION_H_
#define STRATA_GENERATE_MODEL_BIND_ATTENTION_H_

#include <optional>

#include "strata/core/gguf/model_config.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

SelfAttention BindSelfAttention(const ModelConfig& config, const ModelFamily& family, int layer,
                                TensorBinder& binder);

// None for models without.
std::optional<RotaryOptions> BindRotary(const ModelConfig& config, const ModelFamily& family,
                                        TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_ATTENTION_H_
