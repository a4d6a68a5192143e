// Which bytes of weights every step of one token reads: the matrices that all tokens meet. Vectors
// (norms, biases) and rows of the embedding and of a table of n-grams are left out, and so are the routed experts.
#ifndef STRATA_GENERATE_MODEL_DENSE_READS_H_
#define STRATA_GENERATE_MODEL_DENSE_READS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

using WeightBytes = absl::Span<const std::byte>;

// In the order in which a step reads them.
std::vector<WeightBytes> DenseReads(const ModelGraph& graph);

WeightBytes BytesOf(const WeightMatrix& weights);
int64_t SumOfSizes(absl::Span<const WeightBytes> parts);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_DENSE_READS_H_
