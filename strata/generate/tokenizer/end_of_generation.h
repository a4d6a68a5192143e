// Which tokens end an answer.
//
// Those are the tokens that the file names as eos, eot, eom, or as fill-in-the-middle pad, rep and
// sep, and those with a text that models are known to end with, whatever the file says.
#ifndef STRATA_GENERATE_TOKENIZER_END_OF_GENERATION_H_
#define STRATA_GENERATE_TOKENIZER_END_OF_GENERATION_H_

#include <vector>

#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

// Sorted, each once. `vocabulary` has passed CheckVocabulary.
std::vector<TokenId> EndOfGenerationTokens(const Vocabulary& vocabulary);

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_END_OF_GENERATION_H_
