// The rotations of a model from a file: one for all layers, or two where layers with a sliding
// window turn otherwise than those that see all tokens.
#ifndef STRATA_GENERATE_MODEL_BIND_ROTATION_H_
#define STRATA_GENERATE_MODEL_BIND_ROTATION_H_

#include <vector>

#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// Those of ModelGraph::rotations, with the index that each kind of layer uses, or
// SelfAttention::kNoRotation.
struct Rotations {
  std::vector<Rotation> all;
  int of_full_layers = SelfAttention::kNoRotation;
  int of_windows = SelfAttention::kNoRotation;
};
Rotations BindRotations(const ModelConfig& config, const ModelFamily& family, TensorBinder& binder);

// What a stretched context (YaRN) multiplies cosines and sines by, and the size of queries and of
// keys before they meet.
struct YarnFactors {
  double rotation = 1.0;
  double scores = 1.0;
};
YarnFactors YarnFactorsOf(const ModelConfig& config, const ModelFamily& family);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_ROTATION_H_
