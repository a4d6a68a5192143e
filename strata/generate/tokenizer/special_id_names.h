// The special ids of a vocabulary with their names in a GGUF file: bos is
// `tokenizer.ggml.bos_token_id`, and so on.
#ifndef STRATA_GENERATE_TOKENIZER_SPECIAL_ID_NAMES_H_
#define STRATA_GENERATE_TOKENIZER_SPECIAL_ID_NAMES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

struct SpecialIdName {
  absl::string_view name;
  std::optional<TokenId> Vocabulary::SpecialIds::*id;
  bool is_used = true;  // By what encodes prompts or ends answers.
};

inline constexpr SpecialIdName kSpecialIdNames[] = {
    {"bos", &Vocabulary::SpecialIds::bos},
    {"eos", &Vocabulary::SpecialIds::eos},
    {"eot", &Vocabulary::SpecialIds::eot},
    {"eom", &Vocabulary::SpecialIds::eom},
    {"unknown", &Vocabulary::SpecialIds::unknown},
    // Writers spell this one both ways.
    {"seperator", &Vocabulary::SpecialIds::separator, false},
    {"separator", &Vocabulary::SpecialIds::separator, false},
    {"padding", &Vocabulary::SpecialIds::padding, false},
    {"mask", &Vocabulary::SpecialIds::mask, false},
    {"fim_pre", &Vocabulary::SpecialIds::fim_pre, false},
    {"fim_suf", &Vocabulary::SpecialIds::fim_suf, false},
    {"fim_mid", &Vocabulary::SpecialIds::fim_mid, false},
    {"fim_pad", &Vocabulary::SpecialIds::fim_pad},
    {"fim_rep", &Vocabulary::SpecialIds::fim_rep},
    {"fim_sep", &Vocabulary::SpecialIds::fim_sep},
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_SPECIAL_ID_NAMES_H_
