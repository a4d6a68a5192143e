// The strings of testdata/oracles/tokenizer with the ids that an independent implementation gives
// them.
#ifndef STRATA_GENERATE_TOKENIZER_ORACLE_STRINGS_H_
#define STRATA_GENERATE_TOKENIZER_ORACLE_STRINGS_H_

#include <string>
#include <vector>

#include "strata/generate/tokenizer/token_id.h"

namespace strata {

struct OracleString {
  std::string name;  // The text itself if it is short.
  std::string text;  // Any bytes.
  std::vector<TokenId> ids;
  std::vector<TokenId> ids_no_special;  // Special tokens' texts as plain text.
  std::string decoded;                  // What both lists of ids decode to.
  // Ill-formed text that the other implementation takes at face value or gives up on. Here each of
  // its bytes is U+FFFD, and this says what the ids above cannot.
  bool is_taken_differently = false;
};

// CHECKs that the file is there and well-formed.
std::vector<OracleString> OracleStrings();
std::string OracleVocabularyPath();

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_ORACLE_STRINGS_H_
