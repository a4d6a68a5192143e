#include "strata/generate/tokenizer/load_tokenizer.h"

#include <utility>

#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/read_vocabulary.h"

namespace strata {

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const GgufFile& file) {
  ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(file));
  return Tokenizer::Create(std::move(vocabulary));
}

}  // namespace strata
