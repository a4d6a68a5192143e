#include "strata/generate/benchmark/expert_reads.h"

#include <cstddef>
#include <vector>

#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/dense_reads.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

std::vector<WeightBytes> ExpertReads(const GgufFile& file, const ModelGraph& graph,
                                     const StepRouting& routing) {
  std::vector<WeightBytes> reads;
  for (int layer = 0; layer < routing.num_layers(); ++layer) {
    for (const uint16_t expert : routing.Chosen(layer, /*row=*/0)) {
      const ExpertId id = {.layer = graph.experts.layers()[layer], .index = expert};
      for (const ExpertSlice& slice : graph.experts.Slices(id)) {
        const auto& mapping = file.shards()[static_cast<size_t>(slice.shard)]->mapping();
        reads.push_back(mapping.bytes().subspan(static_cast<size_t>(slice.file_offset),
                                                static_cast<size_t>(slice.bytes)));
      }
    }
  }
  return reads;
}

}  // namespace strata
