#include "strata/generate/tokenizer/load_tokenizer.h"

#include <utility>

#include "absl/strings/match.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/read_vocabulary.h"

namespace strata {

bool HasTokenizer(const GgufFile& file) {
  const GgufValue* const model = file.FindKey("tokenizer.ggml.model");
  if (model != nullptr && (model->AsString() == "none" || model->AsString() == "no_vocab")) {
    return false;
  }
  for (const GgufKey& key : file.shards()[0]->keys()) {
    if (absl::StartsWith(key.key, "tokenizer.ggml.")) return true;
  }
  return false;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const GgufFile& file) {
  ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(file));
  return Tokenizer::Create(std::move(vocabulary));
}

}  // namespace strata
