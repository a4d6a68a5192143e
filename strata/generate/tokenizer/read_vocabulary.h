// Fills a Vocabulary from the keys of a GGUF file.
#ifndef STRATA_GENERATE_TOKENIZER_READ_VOCABULARY_H_
#define STRATA_GENERATE_TOKENIZER_READ_VOCABULARY_H_

#include "absl/status/statusor.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

// A file without `tokenizer.ggml.pre` gets "default", and a warning in the log. InputErrors:
// tokenizer_missing (no tokenizer, tokens or merges), tokenizer_model (neither "gpt2" nor "llama"),
// tokenizer_types (an array of the wrong element type, or a token type that is not defined),
// tokenizer_ids (a special id that is no id at all), key_type (another key of the wrong type).
// Whether the parts agree is for CheckVocabulary.
absl::StatusOr<Vocabulary> ReadVocabulary(const GgufFile& file);

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_READ_VOCABULARY_H_
