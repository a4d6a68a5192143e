// Binds the table of n-grams of a model, and what joins its rows to the state.
#ifndef STRATA_GENERATE_MODEL_BIND_NGRAMS_H_
#define STRATA_GENERATE_MODEL_BIND_NGRAMS_H_

#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// Of a model that has one (ple.layers). Errors are the binder's; kind hparams for numbers that
// cannot be or that the table denies.
NgramEmbedding BindNgrams(const GgufFile& file, const ModelConfig& config, TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_NGRAMS_H_
