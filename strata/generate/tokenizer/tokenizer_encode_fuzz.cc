// libFuzzer target: any bytes as a text, for every splitter and for vocabularies of characters. The
// text must come back, with U+FFFD for its ill-formed bytes, at once and as a stream.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/utf8.h"
#include "strata/generate/tokenizer/detokenizer.h"
#include "strata/generate/tokenizer/oracle_strings.h"
#include "strata/generate/tokenizer/pre_tokenizer.h"
#include "strata/generate/tokenizer/read_vocabulary.h"

namespace strata {
namespace {

using Tokenizers = std::vector<std::unique_ptr<Tokenizer>>;

Vocabulary SentencePieceVocabulary() {
  Vocabulary vocabulary;
  vocabulary.model = Vocabulary::Model::kSentencePiece;
  vocabulary.add_bos = false;
  const auto add = [&](absl::string_view text, TokenType type, float score) {
    vocabulary.tokens.emplace_back(text);
    vocabulary.types.push_back(type);
    vocabulary.scores.push_back(score);
  };
  add("<unk>", TokenType::kUnknown, 0);
  add("<s>", TokenType::kControl, 0);
  add("\n\n", TokenType::kUserDefined, 0);
  for (int byte = 0; byte < 256; ++byte) {
    add(absl::StrFormat("<0x%02X>", byte), TokenType::kByte, 0);
  }
  for (const char* text : {"▁", "▁▁", "▁a", "a", "b", "ab", "aba", "é", "▁é", "世", "😀", "😀😀"}) {
    add(text, TokenType::kNormal, -static_cast<float>(vocabulary.tokens.size() % 5));
  }
  return vocabulary;
}

// The same tokens, joined by merges.
Vocabulary CharacterPairVocabulary() {
  Vocabulary vocabulary = SentencePieceVocabulary();
  vocabulary.model = Vocabulary::Model::kCharacterPairs;
  vocabulary.merges = {"a b", "ab a", "▁ a", "▁ ▁", "▁ é", "\n \n", "😀 😀", "世 世"};
  return vocabulary;
}

Tokenizers MakeTokenizers() {
  const std::unique_ptr<GgufFile> file = *GgufFile::Open(OracleVocabularyPath());
  const Vocabulary oracle = *ReadVocabulary(*file);
  Tokenizers tokenizers;
  tokenizers.push_back(*Tokenizer::Create(SentencePieceVocabulary()));
  tokenizers.push_back(*Tokenizer::Create(CharacterPairVocabulary()));
  for (const std::string& name : PreTokenizer::Names()) {
    Vocabulary vocabulary = oracle;
    vocabulary.pre = name;
    tokenizers.push_back(*Tokenizer::Create(std::move(vocabulary)));
  }
  return tokenizers;
}

void CheckRoundTrip(const Tokenizer& tokenizer, absl::string_view text, SpecialText special_text) {
  const absl::StatusOr<std::vector<TokenId>> ids = tokenizer.Encode(text, special_text);
  CHECK(ids.ok()) << ids.status();
  const std::string decoded = Decode(tokenizer, *ids);
  // A text's own U+2581 is read as the space that it stands for in tokens.
  if (!tokenizer.adds_space_prefix() || !absl::StrContains(text, "▁")) {
    CHECK_EQ(decoded, ReplaceIllFormedUtf8(text));
  }
  Detokenizer stream(tokenizer, {.drops_space_prefix = true, .shows_control = true});
  std::string streamed;
  for (const TokenId id : *ids) {
    const std::string part = stream.Add(id);
    CHECK(IsUtf8(part));
    absl::StrAppend(&streamed, part);
  }
  CHECK_EQ(absl::StrCat(streamed, stream.Finish()), decoded);
}

}  // namespace
}  // namespace strata

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  strata::InitRunfiles((*argv)[0]);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const strata::Tokenizers& tokenizers = *new strata::Tokenizers(strata::MakeTokenizers());
  if (size == 0) return 0;
  const strata::Tokenizer& tokenizer = *tokenizers[bytes[0] % tokenizers.size()];
  const absl::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  strata::CheckRoundTrip(tokenizer, text, strata::SpecialText::kIsToken);
  strata::CheckRoundTrip(tokenizer, text, strata::SpecialText::kIsPlainText);
  return 0;
}
