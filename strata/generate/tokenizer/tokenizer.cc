#include "strata/generate/tokenizer/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/tokenizer/byte_pair_encoder.h"
#include "strata/generate/tokenizer/character_pair_encoder.h"
#include "strata/generate/tokenizer/end_of_generation.h"
#include "strata/generate/tokenizer/pre_tokenizer.h"
#include "strata/generate/tokenizer/sentence_piece_encoder.h"
#include "strata/generate/tokenizer/token_bytes.h"
#include "strata/generate/tokenizer/token_mark.h"

namespace strata {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;  // Places in a text are counted in int32.

// U+2581 stands for a space in SentencePiece vocabularies.
bool IsWhiteSpace(absl::string_view text) {
  const std::string plain = absl::StrReplaceAll(text, {{"\u2581", " "}});
  return std::all_of(plain.begin(), plain.end(), absl::ascii_isspace);
}

bool IsNormalMark(const Vocabulary& vocabulary, TokenId id) {
  return vocabulary.TypeOf(id) == TokenType::kNormal && IsTokenMark(vocabulary.tokens[id]);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Create(Vocabulary vocabulary) {
  RETURN_IF_ERROR(CheckVocabulary(vocabulary));
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  RETURN_IF_ERROR(tokenizer->ChooseEncoder());
  tokenizer->AddSpecialTokens();
  return tokenizer;
}

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)),
      bytes_(TokenBytes(vocabulary_)),
      ends_(EndOfGenerationTokens(vocabulary_)) {}

absl::Status Tokenizer::ChooseEncoder() {
  bool adds_bos = true;
  if (vocabulary_.model == Vocabulary::Model::kSentencePiece) {
    encoder_ = std::make_unique<SentencePieceEncoder>(vocabulary_);
    adds_space_prefix_ = vocabulary_.add_space_prefix.value_or(true);
  } else if (vocabulary_.model == Vocabulary::Model::kCharacterPairs) {
    ASSIGN_OR_RETURN(encoder_, CharacterPairEncoder::Create(vocabulary_));
  } else {
    std::optional<PreTokenizer> pre_tokenizer = PreTokenizer::ForName(vocabulary_.pre);
    if (!pre_tokenizer) {
      return InputError("tokenizer_pre", vocabulary_.file,
                        absl::StrCat("tokenizer.ggml.pre is \"", absl::CHexEscape(vocabulary_.pre),
                                     "\", which is not known; known are ",
                                     absl::StrJoin(PreTokenizer::Names(), ", ")));
    }
    adds_bos = pre_tokenizer->adds_bos();
    ASSIGN_OR_RETURN(encoder_, BytePairEncoder::Create(vocabulary_, *std::move(pre_tokenizer)));
  }
  adds_bos_ = vocabulary_.add_bos.value_or(adds_bos) && bos().has_value();
  adds_eos_ = vocabulary_.add_eos.value_or(false) && eos().has_value();
  return absl::OkStatus();
}

void Tokenizer::AddSpecialTokens() {
  // Some files type marks as normal. A special token of the same text counts before those.
  for (TokenId id = 0; id < num_tokens(); ++id) {
    if (IsNormalMark(vocabulary_, id)) special_tokens_.Add(vocabulary_.tokens[id], id);
  }
  for (TokenId id = 0; id < num_tokens(); ++id) {
    const std::string& text = vocabulary_.tokens[id];
    if (IsSpecial(id)) special_tokens_.Add(text, id);
    if (vocabulary_.TypeOf(id) != TokenType::kUserDefined) continue;
    user_defined_tokens_.Add(text, id);
    if (IsWhiteSpace(text)) white_space_tokens_.Add(text, id);
  }
}

const SpecialTokenFinder& Tokenizer::FinderFor(SpecialText special_text) const {
  switch (special_text) {
    case SpecialText::kIsToken:
      return special_tokens_;
    case SpecialText::kIsPlainText:
      return user_defined_tokens_;
    case SpecialText::kIsContent:
      return white_space_tokens_;
  }
  LOG(FATAL) << "no such SpecialText";
}

absl::StatusOr<std::vector<TokenId>> Tokenizer::Encode(absl::string_view text,
                                                       SpecialText special_text) const {
  const TextPiece piece = {std::string(text), special_text};
  ASSIGN_OR_RETURN(std::vector<TokenId> ids, EncodePieces(absl::MakeConstSpan(&piece, 1)));
  if (adds_bos_ && (ids.empty() || ids.front() != *bos())) ids.insert(ids.begin(), *bos());
  if (adds_eos_ && (ids.empty() || ids.back() != *eos())) ids.push_back(*eos());
  return ids;
}

absl::StatusOr<std::vector<TokenId>> Tokenizer::EncodePieces(
    absl::Span<const TextPiece> pieces) const {
  std::vector<TokenId> ids;
  bool after_special = true;
  for (size_t start = 0; start < pieces.size();) {
    size_t end = start + 1;
    while (end < pieces.size() && !pieces[end].starts_token) ++end;
    RETURN_IF_ERROR(AppendRun(pieces.subspan(start, end - start), after_special, ids));
    start = end;
  }
  return ids;
}

absl::Status Tokenizer::AppendRun(absl::Span<const TextPiece> run, bool& after_special,
                                  std::vector<TokenId>& ids) const {
  std::string text;
  bool has_content = false;
  std::vector<SpecialTokenFinder::Occurrence> specials;
  for (const TextPiece& piece : run) {
    has_content |= piece.special_text == SpecialText::kIsContent;
    const std::string piece_text = ReplaceIllFormedUtf8(piece.text);
    const SpecialTokenFinder& finder = FinderFor(piece.special_text);
    for (SpecialTokenFinder::Occurrence special : finder.FindAll(piece_text)) {
      special.start += text.size();
      specials.push_back(special);
    }
    text += piece_text;
  }
  if (text.size() > kMaxTextBytes) {
    return UsageError(absl::StrCat("a text of ", text.size(), " bytes is longer than the ",
                                   kMaxTextBytes, " that are encoded at once"));
  }

  size_t at = 0;
  const auto append_text_until = [&](size_t end) -> absl::Status {
    if (at == end) return absl::OkStatus();
    RETURN_IF_ERROR(
        AppendText(absl::string_view(text).substr(at, end - at), after_special, has_content, ids));
    after_special = false;
    return absl::OkStatus();
  };
  for (const SpecialTokenFinder::Occurrence& special : specials) {
    RETURN_IF_ERROR(append_text_until(special.start));
    ids.push_back(special.id);
    after_special = true;
    at = special.start + special.num_bytes;
  }
  return append_text_until(text.size());
}

absl::Status Tokenizer::AppendText(absl::string_view text, bool after_special, bool has_content,
                                   std::vector<TokenId>& ids) const {
  if (!has_content) return encoder_->Encode(text, after_special, ids);
  // A mark that the file types as normal or user-defined may come out of merging: its text is then
  // encoded in two parts, the first of one character.
  std::vector<TokenId> merged;
  RETURN_IF_ERROR(encoder_->Encode(text, after_special, merged));
  for (const TokenId id : merged) {
    const absl::string_view bytes = bytes_[id];
    const size_t first = bytes.empty() ? 0 : FirstUtf8Character(bytes).num_bytes;
    if (first == bytes.size() || !IsMark(id) || !MergingSpells(id)) {
      ids.push_back(id);
      continue;
    }
    RETURN_IF_ERROR(AppendText(bytes.substr(0, first), false, true, ids));
    RETURN_IF_ERROR(AppendText(bytes.substr(first), false, true, ids));
  }
  return absl::OkStatus();
}

// A byte-pair vocabulary spells special tokens as they are and what is merged in its byte alphabet.
bool Tokenizer::MergingSpells(TokenId id) const {
  const std::string& text = bytes_[id];
  return vocabulary_.model != Vocabulary::Model::kBytePairs ||
         std::all_of(text.begin(), text.end(), absl::ascii_isgraph);
}

bool Tokenizer::IsMark(TokenId id) const {
  if (vocabulary_.TypeOf(id) == TokenType::kUnknown) return false;  // What has no token otherwise.
  return (IsSpecial(id) && !IsWhiteSpace(vocabulary_.tokens[id])) || IsNormalMark(vocabulary_, id);
}

std::optional<TokenId> Tokenizer::SpecialTokenOf(absl::string_view text) const {
  const std::vector<SpecialTokenFinder::Occurrence> found = special_tokens_.FindAll(text);
  if (found.size() != 1 || found[0].num_bytes != text.size()) return std::nullopt;
  return found[0].id;
}

const std::string& Tokenizer::BytesOf(TokenId id) const {
  CHECK(id >= 0 && id < num_tokens()) << id;
  return bytes_[id];
}

bool Tokenizer::IsControl(TokenId id) const {
  CHECK(id >= 0 && id < num_tokens()) << id;
  return vocabulary_.TypeOf(id) == TokenType::kControl;
}

bool Tokenizer::IsSpecial(TokenId id) const {
  CHECK(id >= 0 && id < num_tokens()) << id;
  const TokenType type = vocabulary_.TypeOf(id);
  return type == TokenType::kControl || type == TokenType::kUserDefined ||
         type == TokenType::kUnknown;
}

bool Tokenizer::EndsGeneration(TokenId id) const {
  return std::binary_search(ends_.begin(), ends_.end(), id);
}

}  // namespace strata
