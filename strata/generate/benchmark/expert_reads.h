// Which bytes of the experts a step of one token reads.
#ifndef STRATA_GENERATE_BENCHMARK_EXPERT_READS_H_
#define STRATA_GENERATE_BENCHMARK_EXPERT_READS_H_

#include <vector>

#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/dense_reads.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// The slices, in the mapping, of the experts that a step with this routing reads. `graph` was bound
// to `file`.
std::vector<WeightBytes> ExpertReads(const GgufFile& file, const ModelGraph& graph,
                                     const StepRouting& routing);

}  // namespace strata

#endif  // STRATA_GENERATE_BENCHMARK_EXPERT_READS_H_
