#include "strata/generate/cuda/graph_weights.h"

#include <variant>
#include <vector>

#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

class Visit {
 public:
  explicit Visit(const WeightVisitor& visitor) : visitor_(visitor) {}

  void Weights(const std::vector<float>& values) const {
    if (!values.empty()) visitor_.vector(values);
  }
  void Weights(const Linear& linear) const {
    visitor_.matrix(linear.weights);
    Weights(linear.bias);
  }
  void Weights(const Residual& residual) const {
    Weights(residual.norm_before);
    Weights(residual.norm_after);
  }
  void Weights(const SelfAttention& attention) const {
    for (const Linear* linear :
         {&attention.query, &attention.key, &attention.value, &attention.output}) {
      Weights(*linear);
    }
    for (const std::vector<float>* values :
         {&attention.query_norm, &attention.key_norm, &attention.sinks}) {
      Weights(*values);
    }
  }
  void Weights(const FeedForward& dense) const {
    for (const Linear* linear : {&dense.gate, &dense.up, &dense.down}) Weights(*linear);
  }
  void Weights(const MixtureOfExperts& experts) const {
    Weights(experts.router);
    Weights(experts.routing.selection_bias);
    for (const ExpertLinears* linears : {&experts.gate, &experts.up, &experts.down}) {
      Weights(linears->scales);
      Weights(linears->biases);
    }
    if (experts.shared.has_value()) Weights(*experts.shared);
    if (experts.shared_gate.has_value()) Weights(*experts.shared_gate);
  }

 private:
  const WeightVisitor& visitor_;
};

}  // namespace

void VisitWeights(const ModelGraph& graph, const WeightVisitor& visitor) {
  const Visit visit(visitor);
  const auto weights = [&visit](const auto& part) { visit.Weights(part); };
  for (const Layer& layer : graph.layers) {
    visit.Weights(layer.mixer_residual);
    std::visit(weights, layer.mixer);
    visit.Weights(layer.feed_forward_residual);
    std::visit(weights, layer.feed_forward);
  }
  visit.Weights(graph.output_norm);
  visit.Weights(graph.output);
}

}  // namespace strata
