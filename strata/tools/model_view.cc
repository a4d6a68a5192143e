#include "strata/tools/model_view.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/parameter_count.h"
#include "strata/core/status_macros.h"
#include "strata/generate/model/bind_model.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/read_vocabulary.h"
#include "strata/generate/tokenizer/tokenizer.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {
namespace {

absl::Status ReadModel(const GgufFile& file, ModelView& view) {
  ASSIGN_OR_RETURN(view.config, ModelConfig::Create(file));
  ASSIGN_OR_RETURN(view.layout, ExpertLayout::Create(file, *view.config));
  view.parameters = CountParameters(file, *view.config, *view.layout);
  return absl::OkStatus();
}

// A tokenizer that is not known is no broken one.
bool IsUnknownKind(const absl::Status& status) {
  return ErrorKind(status) == "tokenizer_model" || ErrorKind(status) == "tokenizer_pre";
}

// Both as ModelView has them: what is broken, and what does not run.
struct TokenizerView {
  absl::Status status;
  absl::Status runs;
  int num_tokens = 0;
};

TokenizerView ViewTokenizer(const GgufFile& file) {
  absl::StatusOr<Vocabulary> vocabulary = ReadVocabulary(file);
  if (!vocabulary.ok()) {
    return {.status = IsUnknownKind(vocabulary.status()) ? absl::OkStatus() : vocabulary.status(),
            .runs = vocabulary.status()};
  }
  TokenizerView view = {.status = CheckVocabulary(*vocabulary)};
  const absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
      Tokenizer::Create(*std::move(vocabulary));
  view.runs = tokenizer.status();
  if (tokenizer.ok()) view.num_tokens = (*tokenizer)->num_tokens();
  return view;
}

// As TextModel::Read looks at them.
absl::Status CheckItRuns(const GgufFile& file, const TokenizerView& tokenizer, ModelView& view) {
  ASSIGN_OR_RETURN(ModelGraph graph, BindModel(file));
  RETURN_IF_ERROR(tokenizer.runs);
  if (tokenizer.num_tokens > graph.vocabulary) {
    return InputError("tokenizer_ids", file.path(),
                      absl::StrCat("the tokenizer has ", tokenizer.num_tokens,
                                   " tokens, the model ", graph.vocabulary));
  }
  view.remarks = std::move(graph.remarks);
  return absl::OkStatus();
}

}  // namespace

ModelView ViewModel(const GgufFile& file) {
  ModelView view;
  view.has_tokenizer = HasTokenizer(file);
  view.status = ReadModel(file, view);
  const TokenizerView tokenizer = view.has_tokenizer ? ViewTokenizer(file) : TokenizerView();
  view.status.Update(tokenizer.status);
  view.runs = CheckItRuns(file, tokenizer, view);
  return view;
}

}  // namespace strata
