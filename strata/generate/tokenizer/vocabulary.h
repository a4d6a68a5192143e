// What a model file says about its tokenizer, before any of it is put to use.
//
// Keys of a GGUF file begin with `tokenizer.ggml.`; each member below names its own. A plain value:
// tests fill one by hand, ReadVocabulary (read_vocabulary.h) fills one from a file.
#ifndef STRATA_GENERATE_TOKENIZER_VOCABULARY_H_
#define STRATA_GENERATE_TOKENIZER_VOCABULARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

enum class TokenType : uint8_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

struct Vocabulary {
  enum class Model {
    kBytePairs,       // `model` is "gpt2": byte-level pieces joined by ranked merges.
    kSentencePiece,   // `model` is "llama": characters joined by score, others as byte tokens.
    kCharacterPairs,  // `model` is "gemma4": characters joined by ranked merges, others the same.
  };

  // Keys `NAME_token_id`.
  struct SpecialIds {
    std::optional<TokenId> bos, eos, eot, eom;
    std::optional<TokenId> unknown, separator, padding, mask;
    std::optional<TokenId> fim_pre, fim_suf, fim_mid, fim_pad, fim_rep, fim_sep;
  };

  std::string file;  // Named in errors.
  Model model = Model::kBytePairs;
  std::string pre = "default";      // `pre`.
  std::vector<std::string> tokens;  // `tokens`: any bytes.
  std::vector<TokenType> types;     // `token_type`; empty: all normal.
  std::vector<float> scores;        // `scores`; empty: all 0.
  std::vector<std::string> merges;  // `merges`: "left right", best first.
  SpecialIds ids;
  std::optional<bool> add_bos;           // `add_bos_token`.
  std::optional<bool> add_eos;           // `add_eos_token`.
  std::optional<bool> add_space_prefix;  // `add_space_prefix`.

  // `ids.unknown`, or the first token of that type.
  std::optional<TokenId> UnknownId() const;
  TokenType TypeOf(TokenId id) const { return types.empty() ? TokenType::kNormal : types[id]; }
};

// Whether the parts agree. Kinds: tokenizer_lengths (no tokens; types or scores of another number),
// tokenizer_ids (an id in `ids` that is no token), tokenizer_tokens (a score that is no number).
absl::Status CheckVocabulary(const Vocabulary& vocabulary);

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_VOCABULARY_H_
