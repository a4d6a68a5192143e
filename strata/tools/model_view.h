// A GGUF file as a model: what its metadata and tensors mean, or why they mean nothing.
#ifndef STRATA_TOOLS_MODEL_VIEW_H_
#define STRATA_TOOLS_MODEL_VIEW_H_

#include "absl/status/statusor.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/parameter_count.h"

namespace strata {

struct ModelView {
  ModelConfig config;
  ExpertLayout layout;
  ParameterCount parameters;
};

// An InputError of a model kind when the file, sound as a container, is no model that anybody could
// run.
absl::StatusOr<ModelView> ViewModel(const GgufFile& file);

}  // namespace strata

#endif  // STRATA_TOOLS_MODEL_VIEW_H_
