// All weights of a graph that every row meets: the matrices and vectors of its parts, without the
// embedding and without the matrices of routed experts.
#ifndef STRATA_GENERATE_CUDA_GRAPH_WEIGHTS_H_
#define STRATA_GENERATE_CUDA_GRAPH_WEIGHTS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

struct WeightVisitor {
  absl::FunctionRef<void(const WeightMatrix&)> matrix;
  absl::FunctionRef<void(const std::vector<float>&)> vector;  // Not empty.
};

// In the order in which a step meets them.
void VisitWeights(const ModelGraph& graph, const WeightVisitor& visitor);

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_GRAPH_WEIGHTS_H_
