#include "strata/tools/model_view.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/parameter_count.h"
#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/read_vocabulary.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {
namespace {

// A file may have no tokenizer, or one that we cannot run; but not a broken one.
absl::Status CheckTokenizer(const GgufFile& file) {
  if (file.FindKey("tokenizer.ggml.model") == nullptr) return absl::OkStatus();
  const absl::StatusOr<Vocabulary> vocabulary = ReadVocabulary(file);
  if (vocabulary.ok()) return CheckVocabulary(*vocabulary);
  return ErrorKind(vocabulary.status()) == "tokenizer_model" ? absl::OkStatus()
                                                             : vocabulary.status();
}

}  // namespace

absl::StatusOr<ModelView> ViewModel(const GgufFile& file) {
  ASSIGN_OR_RETURN(ModelConfig config, ModelConfig::Create(file));
  ASSIGN_OR_RETURN(ExpertLayout layout, ExpertLayout::Create(file, config));
  RETURN_IF_ERROR(CheckTokenizer(file));
  const ParameterCount parameters = CountParameters(file, config, layout);
  return ModelView{std::move(config), std::move(layout), parameters};
}

}  // namespace strata
