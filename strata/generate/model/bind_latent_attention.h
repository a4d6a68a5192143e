// Latent attention of a layer from a file: with the key matrices transposed (attn_k_b, attn_v_b) or
// as they stand (attn_kv_b), and with a compressed query or without.
#ifndef STRATA_GENERATE_MODEL_BIND_LATENT_ATTENTION_H_
#define STRATA_GENERATE_MODEL_BIND_LATENT_ATTENTION_H_

#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// `config` has a compressed row (attention.kv_lora_rank). `rotation` is an index of the graph's, or
// SelfAttention::kNoRotation.
LatentAttention BindLatentAttention(const ModelConfig& config, const ModelFamily& family, int layer,
                                    int rotation, TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_LATENT_ATTENTION_H_
