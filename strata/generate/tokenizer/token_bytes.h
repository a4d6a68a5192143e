// What each token of a vocabulary stands for.
#ifndef STRATA_GENERATE_TOKENIZER_TOKEN_BYTES_H_
#define STRATA_GENERATE_TOKENIZER_TOKEN_BYTES_H_

#include <string>
#include <vector>

#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

// By id. Control, unknown and user-defined tokens are their text. Others are read in the
// vocabulary's spelling: the byte alphabet, or U+2581 for a space and "<0x41>" for a byte; a text
// that the byte alphabet does not cover stands for itself.
std::vector<std::string> TokenBytes(const Vocabulary& vocabulary);

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_TOKEN_BYTES_H_
