// Which models the kernels run. Whoever makes an engine asks first; all behind it may rely on the
// answer.
#ifndef STRATA_GENERATE_CUDA_CUDA_SUPPORT_H_
#define STRATA_GENERATE_CUDA_CUDA_SUPPORT_H_

#include "absl/status/status.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// kUnimplemented, naming the first part that no kernel runs.
absl::Status CheckKernelsRun(const ModelGraph& graph);

// The mixer of a layer of such a model.
const SelfAttention& AttentionOf(const Layer& layer);

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_CUDA_SUPPORT_H_
