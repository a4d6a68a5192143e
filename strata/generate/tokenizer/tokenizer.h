// A model's tokenizer: from text to token ids and back, as its makers' own does it.
//
// Text is UTF-8; each byte of it that belongs to no character is read as U+FFFD. How the ids come
// about, and where this differs from other programs: docs/design/tokenizer.md. Streams of ids
// become text in a Detokenizer (detokenizer.h). Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_TOKENIZER_H_
#define STRATA_GENERATE_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/generate/tokenizer/piece_encoder.h"
#include "strata/generate/tokenizer/special_token_finder.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

class Tokenizer {
 public:
  // The errors of CheckVocabulary, and of kinds tokenizer_pre (an unknown name of a splitter) and
  // tokenizer_tokens (a malformed merge).
  static absl::StatusOr<std::unique_ptr<Tokenizer>> Create(Vocabulary vocabulary);

  // The ids of a text on its own: BOS and EOS are added where the vocabulary says so and the text
  // does not already have them. Kind tokenizer_tokens when the vocabulary cannot spell the text.
  absl::StatusOr<std::vector<TokenId>> Encode(absl::string_view text,
                                              SpecialText special_text) const;
  // The ids of a prompt, exactly as its pieces say: nothing is added.
  absl::StatusOr<std::vector<TokenId>> EncodePieces(absl::Span<const TextPiece> pieces) const;

  int32_t num_tokens() const { return static_cast<int32_t>(bytes_.size()); }
  // The bytes that `id` stands for: part of a character at times; the name of a control token.
  const std::string& BytesOf(TokenId id) const;
  bool IsControl(TokenId id) const;
  // Control, user-defined or unknown: found in text as a whole.
  bool IsSpecial(TokenId id) const;
  // The token that `text` as a whole is where texts of special tokens are tokens.
  std::optional<TokenId> SpecialTokenOf(absl::string_view text) const;
  // Whether an answer ends with `id`.
  bool EndsGeneration(TokenId id) const;

  const Vocabulary::SpecialIds& special_ids() const { return vocabulary_.ids; }
  std::optional<TokenId> bos() const { return vocabulary_.ids.bos; }
  std::optional<TokenId> eos() const { return vocabulary_.ids.eos; }
  bool adds_bos() const { return adds_bos_; }
  bool adds_eos() const { return adds_eos_; }
  // Whether Encode puts a space before text at the start and after special tokens.
  bool adds_space_prefix() const { return adds_space_prefix_; }

 private:
  explicit Tokenizer(Vocabulary vocabulary);

  absl::Status ChooseEncoder();
  void AddSpecialTokens();
  // Of pieces that may share tokens. `after_special` is read and kept up.
  absl::Status AppendRun(absl::Span<const TextPiece> run, bool& after_special,
                         std::vector<TokenId>& ids) const;
  absl::Status AppendText(absl::string_view text, bool after_special, bool has_content,
                          std::vector<TokenId>& ids) const;
  const SpecialTokenFinder& FinderFor(SpecialText special_text) const;
  // Whether it could end or begin a turn: special in other text, and no white space.
  bool IsMark(TokenId id) const;
  // Whether merging gives `id` for the text that it stands for.
  bool MergingSpells(TokenId id) const;

  const Vocabulary vocabulary_;
  std::unique_ptr<PieceEncoder> encoder_;
  bool adds_bos_ = false;
  bool adds_eos_ = false;
  bool adds_space_prefix_ = false;
  std::vector<std::string> bytes_;
  std::vector<TokenId> ends_;  // Sorted.
  SpecialTokenFinder special_tokens_;
  SpecialTokenFinder user_defined_tokens_;
  SpecialTokenFinder white_space_tokens_;  // Those of the user-defined ones.
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_TOKENIZER_H_
