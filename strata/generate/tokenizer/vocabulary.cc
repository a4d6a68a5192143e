#include "strata/generate/tokenizer/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "strata/core/error.h"
#include "strata/generate/tokenizer/special_id_names.h"

namespace strata {

std::optional<TokenId> Vocabulary::UnknownId() const {
  if (ids.unknown) return ids.unknown;
  const auto unknown = std::find(types.begin(), types.end(), TokenType::kUnknown);
  if (unknown == types.end()) return std::nullopt;
  return static_cast<TokenId>(unknown - types.begin());
}

absl::Status CheckVocabulary(const Vocabulary& vocabulary) {
  const size_t num_tokens = vocabulary.tokens.size();
  const auto error = [&](absl::string_view kind, absl::string_view message) {
    return InputError(kind, vocabulary.file, message);
  };
  if (num_tokens == 0) {
    return error("tokenizer_lengths", "tokenizer.ggml.tokens is empty");
  }
  if (num_tokens > static_cast<size_t>(std::numeric_limits<TokenId>::max())) {
    return error("tokenizer_lengths", absl::StrCat("tokenizer.ggml.tokens has ", num_tokens,
                                                   " elements, more than ids"));
  }
  if (!vocabulary.types.empty() && vocabulary.types.size() != num_tokens) {
    return error("tokenizer_lengths",
                 absl::StrCat("tokenizer.ggml.token_type has ", vocabulary.types.size(),
                              " elements for ", num_tokens, " tokens"));
  }
  if (!vocabulary.scores.empty() && vocabulary.scores.size() != num_tokens) {
    return error("tokenizer_lengths",
                 absl::StrCat("tokenizer.ggml.scores has ", vocabulary.scores.size(),
                              " elements for ", num_tokens, " tokens"));
  }
  const auto nan = std::find_if(vocabulary.scores.begin(), vocabulary.scores.end(),
                                [](float score) { return std::isnan(score); });
  if (nan != vocabulary.scores.end()) {
    return error("tokenizer_tokens",
                 absl::StrCat("tokenizer.ggml.scores: the score of token ",
                              nan - vocabulary.scores.begin(), " is not a number"));
  }
  for (const SpecialIdName& special : kSpecialIdNames) {
    const std::optional<TokenId> id = vocabulary.ids.*special.id;
    if (id && (*id < 0 || static_cast<size_t>(*id) >= num_tokens)) {
      return error("tokenizer_ids", absl::StrCat("tokenizer.ggml.", special.name, "_token_id is ",
                                                 *id, ", but there are ", num_tokens, " tokens"));
    }
  }
  return absl::OkStatus();
}

}  // namespace strata
