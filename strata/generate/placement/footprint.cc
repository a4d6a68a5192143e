#include "strata/generate/placement/footprint.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <variant>

#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/generate/engine/kv_cache.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/engine/self_attention_block.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/model/dense_reads.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

int64_t DenseBytes(const GgufFile& file, int num_layers) {
  int64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    const TensorPlace place = ClassifyTensor(tensor.name);
    if (place.kind != TensorKind::kExpert && place.block < num_layers) bytes += tensor.bytes;
  }
  return bytes;
}

// The largest need of any layer, part by part: the engine keeps one of each for all layers.
class Workspace {
 public:
  Workspace(const ModelGraph& graph, int64_t batch) : batch_(batch) {
    // The residual, its norm, a block's output, and logits of one token.
    bytes_ = 3 * Rows(batch, graph.width) + Rows(1, graph.vocabulary);
    for (const Layer& layer : graph.layers) Add(layer);
    for (const ActivationForm form : input_forms_) bytes_ += batch * Quantized(form, graph.width);
  }

  int64_t bytes() const { return bytes_ + attention_bytes_ + gated_bytes_ + dense_bytes_; }

 private:
  static int64_t Rows(int64_t count, int64_t width) { return strata::Rows::BytesFor(count, width); }
  static int64_t Quantized(ActivationForm form, int64_t size) {
    return ActivationBuffer::BytesFor(form, size);
  }

  void AddInput(const Linear& linear) { AddInput(linear.weights.type); }
  void AddInput(BlockType type) { input_forms_.insert(*ActivationFormOf(type)); }

  void Add(const Layer& layer) {
    Add(std::get<SelfAttention>(layer.mixer));
    if (const auto* dense = std::get_if<FeedForward>(&layer.feed_forward)) {
      dense_bytes_ = std::max(dense_bytes_, Gated(*dense, batch_));
    } else {
      Add(std::get<MixtureOfExperts>(layer.feed_forward));
    }
  }

  void Add(const SelfAttention& attention) {
    for (const Linear* linear : {&attention.query, &attention.key, &attention.value}) {
      AddInput(*linear);
    }
    const int64_t out = int64_t{attention.num_heads} * attention.value_size;
    const int64_t bytes = Rows(batch_, int64_t{attention.num_heads} * attention.key_size) +
                          Rows(batch_, int64_t{attention.num_kv_heads} * attention.key_size) +
                          Rows(batch_, int64_t{attention.num_kv_heads} * attention.value_size) +
                          Rows(batch_, out) +
                          batch_ * Quantized(*ActivationFormOf(attention.output.weights.type), out);
    attention_bytes_ = std::max(attention_bytes_, bytes);
  }

  int64_t Gated(const FeedForward& part, int64_t num_results) {
    AddInput(part.gate);
    AddInput(part.up);
    const int64_t width = part.gate.weights.rows;
    return 2 * Rows(num_results, width) +
           num_results * Quantized(*ActivationFormOf(part.down.weights.type), width);
  }

  void Add(const MixtureOfExperts& experts) {
    AddInput(experts.router);
    AddInput(experts.gate.type);
    AddInput(experts.up.type);
    const int64_t entries = batch_ * experts.routing.num_chosen;
    int64_t results = entries, width = experts.gate.rows;
    int64_t bytes = Rows(batch_, experts.routing.num_experts) + Rows(entries, experts.down.rows) +
                    entries * Quantized(*ActivationFormOf(experts.down.type), experts.gate.rows);
    if (experts.shared.has_value()) {
      AddInput(experts.shared->gate);
      AddInput(experts.shared->up);
      results += batch_;
      width = std::max(width, experts.shared->gate.weights.rows);
      bytes += Rows(batch_, experts.shared->down.weights.rows) +
               batch_ * Quantized(*ActivationFormOf(experts.shared->down.weights.type), width);
    }
    if (experts.shared_gate.has_value()) bytes += Rows(batch_, 1);
    gated_bytes_ = std::max(gated_bytes_, bytes + 2 * Rows(results, width));
  }

  const int64_t batch_;
  int64_t bytes_ = 0;
  int64_t attention_bytes_ = 0;
  int64_t gated_bytes_ = 0;
  int64_t dense_bytes_ = 0;
  std::set<ActivationForm> input_forms_;  // Of norms' results.
};

void AddKv(const ModelGraph& graph, const FootprintOptions& options, Footprint& footprint) {
  for (const Layer& layer : graph.layers) {
    const auto& attention = std::get<SelfAttention>(layer.mixer);
    const KvShape shape = KvShapeOf(attention);
    const int64_t seen =
        attention.window > 0 ? std::min(attention.window, options.context) : options.context;
    footprint.kv_bytes += KvCache::BytesFor(options.kv_type, shape, options.context);
    footprint.kv_read_bytes += KvCache::BytesFor(options.kv_type, shape, seen);
  }
}

}  // namespace

Footprint FootprintOf(const GgufFile& file, const ModelGraph& graph,
                      const FootprintOptions& options) {
  Footprint footprint = {
      .dense_bytes = DenseBytes(file, static_cast<int>(graph.layers.size())),
      .dense_read_bytes = SumOfSizes(DenseReads(graph)),
      .workspace_bytes = Workspace(graph, std::min(options.prompt_batch, options.context)).bytes()};
  AddKv(graph, options, footprint);
  return footprint;
}

}  // namespace strata
