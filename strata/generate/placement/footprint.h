// What a model takes of memory beside its routed experts, and what a token reads of it: figures to
// plan with, before anything is loaded. Sizes are in bytes.
#ifndef STRATA_GENERATE_PLACEMENT_FOOTPRINT_H_
#define STRATA_GENERATE_PLACEMENT_FOOTPRINT_H_

#include <cstdint>

#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

struct FootprintOptions {
  int64_t context = 0;  // Tokens; all of them are counted as used.
  KvType kv_type = KvType::kF32;
  int64_t prompt_batch = 1;
  int64_t snapshot_bytes = EngineOptions().snapshot_bytes;  // The bound of the engine.
};

struct Footprint {
  int64_t dense_bytes = 0;           // Weights of the trunk that are no routed experts.
  int64_t dense_read_bytes = 0;      // Of them, by each token.
  int64_t table_bytes = 0;           // Of tables that stay in the file,
  int64_t table_read_bytes = 0;      // and the pages of them that a token touches.
  int64_t kv_bytes = 0;              // Keys and values of the context,
  int64_t kv_read_bytes = 0;         // and those that its last token reads.
  int64_t recurrent_bytes = 0;       // What other mixers remember of one text,
  int64_t recurrent_read_bytes = 0;  // what a token reads and writes of it,
  int64_t snapshot_bytes = 0;        // and the snapshots that fit into their bound.
  int64_t workspace_bytes = 0;       // Activations of a batch of the prompt,
  bool streams_layers = false;       // and the buffers of a LayerStream, sized with the slots.
};

// Of the engine that runs `graph`, which was bound to `file`.
Footprint FootprintOf(const GgufFile& file, const ModelGraph& graph,
                      const FootprintOptions& options);

}  // namespace strata

#endif  // STRATA_GENERATE_PLACEMENT_FOOTPRINT_H_
