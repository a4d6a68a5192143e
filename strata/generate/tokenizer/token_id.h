// The number of a token in its vocabulary, counted from 0.
#ifndef STRATA_GENERATE_TOKENIZER_TOKEN_ID_H_
#define STRATA_GENERATE_TOKENIZER_TOKEN_ID_H_

#include <cstdint>

namespace strata {

using TokenId = int32_t;

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_TOKEN_ID_H_
