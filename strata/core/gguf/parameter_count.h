// How many weights a model has, and how many of them one token meets.
#ifndef STRATA_CORE_GGUF_PARAMETER_COUNT_H_
#define STRATA_CORE_GGUF_PARAMETER_COUNT_H_

#include <cstdint>

#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"

namespace strata {

// Scales that belong to a quantization count nowhere.
struct ParameterCount {
  int64_t total = 0;  // Of all tensors.
  int64_t nextn = 0;  // Of those, in NextN blocks.
  // What one pass of one token meets, as publishers count it: without the NextN blocks, without the
  // experts that are not chosen and without tables of per-layer embeddings, with both ends'
  // token embeddings.
  int64_t active = 0;
};

ParameterCount CountParameters(const GgufFile& file, const ModelConfig& config,
                               const ExpertLayout& layout);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_PARAMETER_COUNT_H_
