#include "strata/generate/model/dense_reads.h"

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/kernels/weight_matrix.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

WeightBytes BytesOf(const WeightMatrix& weights) {
  return WeightBytes(weights.data, static_cast<size_t>(weights.rows * weights.row_bytes()));
}

namespace {

void AddFeedForward(const FeedForward& part, std::vector<WeightBytes>& reads) {
  for (const Linear* linear : {&part.gate, &part.up, &part.down}) {
    reads.push_back(BytesOf(linear->weights));
  }
}

}  // namespace

std::vector<WeightBytes> DenseReads(const ModelGraph& graph) {
  std::vector<WeightBytes> reads;
  for (const Layer& layer : graph.layers) {
    const auto& attention = std::get<SelfAttention>(layer.mixer);
    for (const Linear* linear :
         {&attention.query, &attention.key, &attention.value, &attention.output}) {
      reads.push_back(BytesOf(linear->weights));
    }
    if (const auto* dense = std::get_if<FeedForward>(&layer.feed_forward)) {
      AddFeedForward(*dense, reads);
      continue;
    }
    const auto& experts = std::get<MixtureOfExperts>(layer.feed_forward);
    reads.push_back(BytesOf(experts.router.weights));
    if (experts.shared.has_value()) AddFeedForward(*experts.shared, reads);
    if (experts.shared_gate.has_value()) reads.push_back(BytesOf(experts.shared_gate->weights));
  }
  reads.push_back(BytesOf(graph.output.weights));
  return reads;
}

int64_t SumOfSizes(absl::Span<const WeightBytes> parts) {
  int64_t sum = 0;
  for (const WeightBytes& part : parts) sum += static_cast<int64_t>(part.size());
  return sum;
}

}  // namespace strata
