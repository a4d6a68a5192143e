#include "strata/generate/model/dense_reads.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

WeightBytes BytesOf(const WeightMatrix& weights) {
  return WeightBytes(weights.data, static_cast<size_t>(weights.rows * weights.row_bytes()));
}

namespace {

using Reads = std::vector<WeightBytes>;

void Add(const Linear& linear, Reads& reads) { reads.push_back(BytesOf(linear.weights)); }

void Add(const SelfAttention& attention, Reads& reads) {
  Add(attention.query, reads);
  Add(attention.key, reads);
  if (!attention.values_are_keys) Add(attention.value, reads);
  if (attention.indexer.has_value()) {
    Add(attention.indexer->query, reads);
    Add(attention.indexer->key, reads);
  }
  Add(attention.output, reads);
}

void Add(const HeadLinears& linears, int num_heads, Reads& reads) {
  for (int head = 0; head < num_heads; ++head) reads.push_back(BytesOf(linears.Weights(head)));
}

void Add(const LatentAttention& attention, Reads& reads) {
  if (attention.query_compress.has_value()) Add(*attention.query_compress, reads);
  Add(attention.query, reads);
  Add(attention.compress, reads);
  Add(attention.key, attention.num_heads, reads);
  Add(attention.value, attention.num_heads, reads);
  Add(attention.output, reads);
}

void Add(const GatedDeltaNet& net, Reads& reads) {
  for (const PlacedLinear& input : net.inputs) Add(input.linear, reads);
  Add(net.output, reads);
}

void Add(const ShortConvolution& part, Reads& reads) {
  for (const Linear* linear : {&part.input, &part.output}) Add(*linear, reads);
}

void Add(const FeedForward& part, Reads& reads) {
  for (const Linear* linear : {&part.gate, &part.up, &part.down}) Add(*linear, reads);
}

void Add(const MixtureOfExperts& experts, Reads& reads) {
  Add(experts.router, reads);
  if (experts.shared.has_value()) Add(*experts.shared, reads);
  if (experts.shared_gate.has_value()) Add(*experts.shared_gate, reads);
}

void Add(const std::optional<StreamMixer>& mixer, Reads& reads) {
  if (!mixer.has_value()) return;
  Add(mixer->down, reads);
  Add(mixer->up, reads);
  if (mixer->inject.has_value()) Add(*mixer->inject, reads);
}

}  // namespace

std::vector<WeightBytes> DenseReads(const ModelGraph& graph) {
  std::vector<WeightBytes> reads;
  for (const Layer& layer : graph.layers) {
    if (graph.ngrams.has_value() && &layer == &graph.layers[graph.ngrams->layer]) {
      Add(graph.ngrams->key, reads);
      Add(graph.ngrams->value, reads);
    }
    Add(layer.mixer_residual.streams, reads);
    std::visit([&](const auto& mixer) { Add(mixer, reads); }, layer.mixer);
    Add(layer.feed_forward_residual.streams, reads);
    std::visit([&](const auto& part) { Add(part, reads); }, layer.feed_forward);
  }
  Add(graph.output_mixer, reads);
  reads.push_back(BytesOf(graph.output.weights));
  return reads;
}

int64_t SumOfSizes(absl::Span<const WeightBytes> parts) {
  int64_t sum = 0;
  for (const WeightBytes& part : parts) sum += static_cast<int64_t>(part.size());
  return sum;
}

}  // namespace strata
