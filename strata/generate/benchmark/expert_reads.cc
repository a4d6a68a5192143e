#include "strata/generate/benchmark/expert_reads.h"

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/model/dense_reads.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

void ExpertReads::OnRouting(int layer, int64_t position, absl::Span<const ExpertChoice> chosen) {
  if (position != last_position_) steps_.emplace_back();
  last_position_ = position;
  const auto& experts = std::get<MixtureOfExperts>(graph_.layers[layer].feed_forward);
  for (const ExpertChoice& choice : chosen) {
    for (const ExpertLinears* linears : {&experts.gate, &experts.up, &experts.down}) {
      steps_.back().push_back(BytesOf(linears->Weights(linears->data[choice.expert])));
    }
  }
}

void ExpertReads::OnLayerOutput(int /*layer*/, int64_t /*position*/,
                                absl::Span<const float> /*x*/) {}

}  // namespace strata
