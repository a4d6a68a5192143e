// Binds the mixers of models whose state is several streams.
#ifndef STRATA_GENERATE_MODEL_BIND_STREAMS_H_
#define STRATA_GENERATE_MODEL_BIND_STREAMS_H_

#include <string>

#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// 1 for other models. Errors are the binder's; kind hparams for numbers that cannot be.
int NumStreams(const ModelConfig& config, TensorBinder& binder);

// From tensors `stem` + "_norm", "_down", "_up" and, where a part's result goes back into the
// streams, "_inject". Errors are the binder's.
StreamMixer BindStreamMixer(const ModelConfig& config, const std::string& stem, bool has_inject,
                            TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_STREAMS_H_
