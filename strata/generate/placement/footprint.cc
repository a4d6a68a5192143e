#include "strata/generate/placement/footprint.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <variant>

#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/tensor_bytes.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/cpu/cpu_layers.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/kv_row.h"
#include "strata/generate/cpu/latent_attention_block.h"
#include "strata/generate/cpu/recurrent_pool.h"
#include "strata/generate/cpu/self_attention_block.h"
#include "strata/generate/model/dense_reads.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

int64_t DenseBytes(const GgufFile& file, int num_layers) {
  int64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    const TensorPlace place = ClassifyTensor(tensor.name);
    if (place.kind == TensorKind::kExpert || place.kind == TensorKind::kTable) continue;
    if (place.block < num_layers) bytes += tensor.bytes;
  }
  return bytes;
}

// A row lies in a page, or in two.
int64_t TableReadBytes(const ModelGraph& graph) {
  return graph.ngrams.has_value()
             ? static_cast<int64_t>(graph.ngrams->heads.size()) * sysconf(_SC_PAGESIZE)
             : 0;
}

void AddKvOf(const KvShape& shape, int64_t seen, const FootprintOptions& options,
             Footprint& footprint) {
  footprint.kv_bytes += KvPool::BytesFor(options.kv_type, shape, options.context);
  footprint.kv_read_bytes += KvPool::BytesFor(options.kv_type, shape, seen);
}

void AddKvOf(const SelfAttention& attention, const FootprintOptions& options,
             Footprint& footprint) {
  const int64_t seen =
      attention.window > 0 ? std::min(attention.window, options.context) : options.context;
  if (!attention.indexer.has_value()) {
    AddKvOf(KvShapeOf(attention), seen, options, footprint);
    return;
  }
  // Of blocks that are not kept, the index alone is read.
  const BlockIndexer& indexer = *attention.indexer;
  const int64_t num_blocks = options.context / indexer.block_size;
  const int64_t kept = std::min(
      options.context, int64_t{indexer.num_kept} * indexer.block_size + indexer.block_size - 1);
  KvShape shape = KvShapeOf(attention);
  footprint.kv_bytes += KvPool::BytesFor(options.kv_type, shape, options.context);
  shape.index_size = 0;
  footprint.kv_read_bytes += KvPool::BytesFor(options.kv_type, shape, kept);
  if (num_blocks > indexer.num_kept) {
    footprint.kv_read_bytes += num_blocks * KvRowBytes(options.kv_type, indexer.head_size);
  }
}

void AddKvOf(const LatentAttention& attention, const FootprintOptions& options,
             Footprint& footprint) {
  AddKvOf(KvShapeOf(attention), options.context, options, footprint);
}

// What they keep has one size whatever the context.
void AddKvOf(const GatedDeltaNet& /*net*/, const FootprintOptions& /*options*/,
             Footprint& /*footprint*/) {}
void AddKvOf(const ShortConvolution& /*part*/, const FootprintOptions& /*options*/,
             Footprint& /*footprint*/) {}

void AddKv(const ModelGraph& graph, const FootprintOptions& options, Footprint& footprint) {
  for (const Layer& layer : graph.layers) {
    std::visit([&](const auto& mixer) { AddKvOf(mixer, options, footprint); }, layer.mixer);
  }
}

void AddRecurrent(const ModelGraph& graph, const FootprintOptions& options, Footprint& footprint) {
  const int64_t state_bytes = RecurrentPool::StateBytes(RecurrentValues(graph));
  footprint.recurrent_bytes = RecurrentPool::kBuffersOfSequence * state_bytes;
  footprint.recurrent_read_bytes = 2 * state_bytes;
  footprint.snapshot_bytes =
      RecurrentPool::MaxSnapshots(state_bytes, options.snapshot_bytes) * state_bytes;
}

}  // namespace

Footprint FootprintOf(const GgufFile& file, const ModelGraph& graph,
                      const FootprintOptions& options) {
  Footprint footprint = {.dense_bytes = DenseBytes(file, static_cast<int>(graph.layers.size())),
                         .dense_read_bytes = SumOfSizes(DenseReads(graph)),
                         .table_bytes = BytesOfKind(file, TensorKind::kTable),
                         .table_read_bytes = TableReadBytes(graph),
                         .workspace_bytes = CpuLayers::WorkspaceBytes(
                             graph, std::min(options.prompt_batch, options.context))};
  AddKv(graph, options, footprint);
  AddRecurrent(graph, options, footprint);
  return footprint;
}

}  // namespace strata
