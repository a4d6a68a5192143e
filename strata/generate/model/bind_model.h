// From a GGUF file to the graph that the engine runs.
#ifndef STRATA_GENERATE_MODEL_BIND_MODEL_H_
#define STRATA_GENERATE_MODEL_BIND_MODEL_H_

#include "absl/status/statusor.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// Every tensor of the trunk is there, of the right shape and of a type to compute with; numbers of
// the metadata agree with each other, and none asks for what no part computes. What the graph does
// not use of the file is among its remarks. The graph borrows from `file`.
//
// Kinds: unsupported_arch (lists the families that can be run), hparams, tensor_missing,
// tensor_shape, unsupported_type, and those of ModelConfig and ExpertLayout.
absl::StatusOr<ModelGraph> BindModel(const GgufFile& file);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_MODEL_H_
