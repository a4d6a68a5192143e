// What a tensor is, by its name alone. ClassifyTensor is the one place that decides which tensors
// are routed experts, and of which block, role and number.
#ifndef STRATA_CORE_GGUF_TENSOR_PLACE_H_
#define STRATA_CORE_GGUF_TENSOR_PLACE_H_

#include "absl/strings/string_view.h"

namespace strata {

// The matrices of an expert. kGateUp is gate's rows followed by up's in one matrix.
enum class ExpertRole { kGate, kUp, kDown, kGateUp };

// "gate", "up", "down", "gate_up".
absl::string_view NameOf(ExpertRole role);

enum class TensorKind {
  kGlobal,           // Of no block: token_embd, output, ...
  kTable,            // Of no block, and only looked up by row: per_layer_token_embd.
  kOfBlock,          // Of a block, and none of the below.
  kDenseFfn,         // ffn_gate, ffn_up, ffn_down for all tokens.
  kRouter,           // ffn_gate_inp.weight
  kExpert,           // A matrix of routed experts.
  kExpertCompanion,  // One bias or scale per routed expert: ffn_gate_exps.scale.
  kSharedExpert,     // ffn_*_shexp, and the gate of the shared expert.
  kNextN,            // nextn.*: what only a next-token prediction block has.
  kMalformed,        // Begins as a block's or an expert's, with no number that could be one.
};

struct TensorPlace {
  TensorKind kind = TensorKind::kGlobal;
  int block = -1;                       // -1 for kGlobal, kTable and kMalformed.
  ExpertRole role = ExpertRole::kGate;  // Of kExpert and kExpertCompanion.
  int expert = -1;                      // -1: all experts of the block in one tensor.
};

TensorPlace ClassifyTensor(absl::string_view name);

// True for the factors that belong to a quantization and are no weights: *.scale, *.input_scale.
bool IsQuantizationScale(absl::string_view name);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_TENSOR_PLACE_H_
