// The tokenizer of a GGUF file, in one step.
#ifndef STRATA_GENERATE_TOKENIZER_LOAD_TOKENIZER_H_
#define STRATA_GENERATE_TOKENIZER_LOAD_TOKENIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

// Whether it has one; "none" is what writers put where a model has no vocabulary.
bool HasTokenizer(const GgufFile& file);

// The errors of ReadVocabulary and of Tokenizer::Create. The file need not outlive the tokenizer.
absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const GgufFile& file);

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_LOAD_TOKENIZER_H_
