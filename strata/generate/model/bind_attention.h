// Self-attention of a layer, and the rotations that layers share, from a file.
#ifndef STRATA_GENERATE_MODEL_BIND_ATTENTION_H_
#define STRATA_GENERATE_MODEL_BIND_ATTENTION_H_

#include <cstdint>

#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// `rotation` is an index of the graph's, or SelfAttention::kNoRotation.
SelfAttention BindSelfAttention(const ModelConfig& config, const ModelFamily& family, int layer,
                                int rotation, TensorBinder& binder);

// Has any block norms of queries or keys?
bool HasQueryKeyNorms(const ModelConfig& config, const TensorBinder& binder);

// Does the layer see a sliding window and not all tokens?
bool HasWindow(const AttentionConfig& config, const ModelFamily& family, int layer);

// Values of a head, in layers with a sliding window or in those without.
struct HeadSizes {
  int64_t key = 0;
  int64_t value = 0;
};
HeadSizes HeadSizesOf(const ModelConfig& config, const ModelFamily& family, bool has_window);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_ATTENTION_H_
