// A GGUF file as a model: what its metadata and tensors mean, or why they mean nothing.
#ifndef STRATA_TOOLS_MODEL_VIEW_H_
#define STRATA_TOOLS_MODEL_VIEW_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/parameter_count.h"

namespace strata {

struct ModelView {
  // Why the file, sound as a container, is no model that anybody could run: an InputError of a model
  // kind. What is known of it is there all the same.
  absl::Status status;
  std::optional<ModelConfig> config;
  std::optional<ExpertLayout> layout;
  std::optional<ParameterCount> parameters;  // With both.

  // Why `generate` does not run it; ok when it does, on a CPU at least.
  absl::Status runs;
  bool has_tokenizer = false;  // Without one it takes token ids alone.
  // What a person should know of a model that runs, a sentence each.
  std::vector<std::string> remarks;
};

ModelView ViewModel(const GgufFile& file);

}  // namespace strata

#endif  // STRATA_TOOLS_MODEL_VIEW_H_
