#include "strata/generate/tokenizer/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/tokenizer/byte_pair_encoder.h"
#include "strata/generate/tokenizer/end_of_generation.h"
#include "strata/generate/tokenizer/pre_tokenizer.h"
#include "strata/generate/tokenizer/sentence_piece_encoder.h"
#include "strata/generate/tokenizer/token_bytes.h"

namespace strata {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;  // Places in a text are counted in int32.

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
  for (TokenId id = 0; id < num_tokens(); ++id) {
    const std::string& text = vocabulary_.tokens[id];
    if (IsSpecial(id)) special_tokens_.Add(text, id);
    if (vocabulary_.TypeOf(id) == TokenType::kUserDefined) user_defined_tokens_.Add(text, id);
  }
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
  std::vector<SpecialTokenFinder::Occurrence> specials;
  for (const TextPiece& piece : run) {
    const std::string piece_text = ReplaceIllFormedUtf8(piece.text);
    const SpecialTokenFinder& finder =
        piece.special_text == SpecialText::kIsToken ? special_tokens_ : user_defined_tokens_;
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
        encoder_->Encode(absl::string_view(text).substr(at, end - at), after_special, ids));
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
