// What an engine computes of a step, one operation for each part of a model: a backend implements
// them, RunLayers calls them in the order of the model. They are coarse on purpose, so that a
// backend may fuse inside one.
//
// An implementation holds the rows of the step and their state x. The CPU's operations compute when
// they are called, once for each step; those of a backend that records its work are called once
// while it is recorded.
//
// A part that a backend cannot compute is refused when its engine is made, not here. Errors are of
// kind nan_logits, or what the backend's memory and devices give.
#ifndef STRATA_GENERATE_MODEL_LAYER_OPS_H_
#define STRATA_GENERATE_MODEL_LAYER_OPS_H_

#include "absl/status/status.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class LayerOps {
 public:
  virtual ~LayerOps() = default;

  // x = embedding of each row's token.
  virtual absl::Status Embed(const ModelGraph& graph) = 0;

  // x = x + what the last few tokens say together, of models that have it.
  virtual absl::Status AddNgrams(const NgramEmbedding& ngrams) = 0;

  // x = the residual rule around a mixer, which adds the rows to its state; one for each kind.
  // `layer` counts from 0.
  virtual absl::Status Mix(int layer, const Residual& residual, const SelfAttention& attention) = 0;
  virtual absl::Status Mix(int layer, const Residual& residual,
                           const LatentAttention& attention) = 0;
  virtual absl::Status Mix(int layer, const Residual& residual, const GatedDeltaNet& net) = 0;
  virtual absl::Status Mix(int layer, const Residual& residual,
                           const ShortConvolution& convolution) = 0;

  // x = the residual rule around a feed-forward that all rows share, or around routed experts.
  virtual absl::Status Feed(int layer, const Residual& residual, const FeedForward& dense) = 0;
  virtual absl::Status Feed(int layer, const Residual& residual,
                            const MixtureOfExperts& experts) = 0;

  // The layer is done. An error ends the step: whoever was asked to stop says so here.
  virtual absl::Status EndLayer(int layer) = 0;

  // The logits of the rows that want them.
  virtual absl::Status Output(const ModelGraph& graph) = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_LAYER_OPS_H_
