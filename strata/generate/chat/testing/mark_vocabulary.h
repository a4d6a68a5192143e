// Small vocabularies for tests of prompts: every byte, and the marks of a test.
#ifndef STRATA_GENERATE_CHAT_TESTING_MARK_VOCABULARY_H_
#define STRATA_GENERATE_CHAT_TESTING_MARK_VOCABULARY_H_

#include <string>
#include <vector>

#include "strata/core/gguf/gguf_writer.h"

namespace strata {

// Adds the keys of a tokenizer to a file: bytes, some pairs of them, BOS "<s>", EOS "</s>", and
// `marks`, which are control, user-defined and normal tokens by turns. Neither BOS nor EOS is added
// to texts.
void AddBytePairTokenizer(const std::vector<std::string>& marks, GgufWriter& file);

// The same as a SentencePiece vocabulary, in which every mark also comes out of merging.
void AddSentencePieceTokenizer(const std::vector<std::string>& marks, GgufWriter& file);

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_TESTING_MARK_VOCABULARY_H_
