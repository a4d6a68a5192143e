// Binds the short convolution of a layer.
#ifndef STRATA_GENERATE_MODEL_BIND_SHORT_CONVOLUTION_H_
#define STRATA_GENERATE_MODEL_BIND_SHORT_CONVOLUTION_H_

#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// Of a model that has short convolutions, the layers without key and value heads.
bool IsShortConvolution(const ModelConfig& config, int layer);

// Errors are the binder's.
ShortConvolution BindShortConvolution(const ModelConfig& config, int layer, TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_SHORT_CONVOLUTION_H_
