// Binds what chooses the blocks of keys that an attention layer sees.
#ifndef STRATA_GENERATE_MODEL_BIND_BLOCK_INDEXER_H_
#define STRATA_GENERATE_MODEL_BIND_BLOCK_INDEXER_H_

#include <optional>

#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// None where attention.compress_ratios has no block size for the layer. Errors are the binder's;
// kind hparams for numbers that cannot be.
std::optional<BlockIndexer> BindBlockIndexer(const ModelConfig& config, int layer,
                                             TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_BLOCK_INDEXER_H_
