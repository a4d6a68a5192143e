#include "strata/generate/tokenizer/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/generate/tokenizer/byte_alphabet.h"
#include "strata/generate/tokenizer/detokenizer.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<TokenId>;

// Ids 0 to 255 are the bytes; tests add what they need behind.
Vocabulary ByteVocabulary() {
  Vocabulary vocabulary;
  vocabulary.file = "model.gguf";
  vocabulary.pre = "qwen2";
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(SpellingOfBytes(std::string(1, static_cast<char>(byte))));
    vocabulary.types.push_back(TokenType::kNormal);
  }
  return vocabulary;
}

TokenId Add(Vocabulary& vocabulary, const std::string& text, TokenType type = TokenType::kNormal) {
  vocabulary.tokens.push_back(text);
  vocabulary.types.push_back(type);
  return static_cast<TokenId>(vocabulary.tokens.size() - 1);
}

// <unk> <s> </s>, the 256 bytes from id 3, then what tests add, with scores.
Vocabulary SentencePieceVocabulary() {
  Vocabulary vocabulary;
  vocabulary.file = "model.gguf";
  vocabulary.model = Vocabulary::Model::kSentencePiece;
  Add(vocabulary, "<unk>", TokenType::kUnknown);
  vocabulary.ids.bos = Add(vocabulary, "<s>", TokenType::kControl);
  vocabulary.ids.eos = Add(vocabulary, "</s>", TokenType::kControl);
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    Add(vocabulary, std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">",
        TokenType::kByte);
  }
  vocabulary.scores.assign(vocabulary.tokens.size(), 0);
  return vocabulary;
}

TokenId AddScored(Vocabulary& vocabulary, const std::string& text, float score) {
  vocabulary.scores.push_back(score);
  return Add(vocabulary, text);
}

std::unique_ptr<Tokenizer> Make(Vocabulary vocabulary) {
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::Create(std::move(vocabulary));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

Ids Encode(const Tokenizer& tokenizer, absl::string_view text,
           SpecialText special_text = SpecialText::kIsToken) {
  absl::StatusOr<Ids> ids = tokenizer.Encode(text, special_text);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.value_or(Ids());
}

TEST(TokenizerTest, NamesAnUnknownSplitterAndThoseItKnows) {
  Vocabulary vocabulary = ByteVocabulary();
  vocabulary.pre = "qwen99";
  const absl::Status status = Tokenizer::Create(vocabulary).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_pre");
  EXPECT_EQ(ErrorFile(status), "model.gguf");
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"qwen99\""));
  EXPECT_THAT(std::string(status.message()), HasSubstr("qwen2, qwen35"));
}

TEST(TokenizerTest, RefusesPartsThatDoNotAgree) {
  const auto kind_of = [](const auto& change) {
    Vocabulary vocabulary = SentencePieceVocabulary();
    change(vocabulary);
    return ErrorKind(Tokenizer::Create(std::move(vocabulary)).status());
  };
  EXPECT_EQ(kind_of([](Vocabulary& v) { v.scores.pop_back(); }), "tokenizer_lengths");
  EXPECT_EQ(kind_of([](Vocabulary& v) { v.types.pop_back(); }), "tokenizer_lengths");
  EXPECT_EQ(kind_of([](Vocabulary& v) { v = Vocabulary(); }), "tokenizer_lengths");
  EXPECT_EQ(kind_of([](Vocabulary& v) { v.ids.fim_sep = 259; }), "tokenizer_ids");
  EXPECT_EQ(kind_of([](Vocabulary& v) { v.ids.bos = -1; }), "tokenizer_ids");
  EXPECT_EQ(kind_of([](Vocabulary& v) { v.scores[5] = std::nanf(""); }), "tokenizer_tokens");
  EXPECT_EQ(kind_of([](Vocabulary& v) { v.scores.clear(); }), "");
}

TEST(TokenizerTest, RefusesMergesThatAreNotTwoParts) {
  for (const char* merge : {"", "ab", " b", "a ", "a b c", "a  b"}) {
    Vocabulary vocabulary = ByteVocabulary();
    vocabulary.merges = {"x y", merge};
    const absl::Status status = Tokenizer::Create(vocabulary).status();
    EXPECT_EQ(ErrorKind(status), "tokenizer_tokens") << merge;
    EXPECT_THAT(std::string(status.message()), HasSubstr("merge 1"));
  }
}

TEST(TokenizerTest, MergesThroughPartsThatAreNoTokensAndFallsBackToBytes) {
  Vocabulary vocabulary = ByteVocabulary();
  const TokenId abc = Add(vocabulary, "abc");
  vocabulary.merges = {"a b", "ab c"};
  const auto tokenizer = Make(std::move(vocabulary));
  EXPECT_THAT(Encode(*tokenizer, "abc"), ElementsAre(abc));
  EXPECT_THAT(Encode(*tokenizer, "abab"), ElementsAre('a', 'b', 'a', 'b'));
}

TEST(TokenizerTest, SaysWhichByteTheVocabularyLacksUnlessItHasAnUnknownToken) {
  Vocabulary vocabulary;
  const TokenId a = Add(vocabulary, "a");
  const absl::Status status = Make(vocabulary)->Encode("ab", SpecialText::kIsPlainText).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_tokens");
  EXPECT_THAT(std::string(status.message()), HasSubstr("0x62"));
  const TokenId unknown = Add(vocabulary, "<unk>", TokenType::kUnknown);
  EXPECT_THAT(Encode(*Make(vocabulary), "ab"), ElementsAre(a, unknown));
}

TEST(TokenizerTest, TakesWholeTokensBeforeMergesWhereTheFamilyDoes) {
  Vocabulary vocabulary = ByteVocabulary();
  const TokenId abc = Add(vocabulary, "abc");
  EXPECT_THAT(Encode(*Make(vocabulary), "abc"), ElementsAre('a', 'b', 'c'));
  vocabulary.pre = "llama-bpe";
  EXPECT_THAT(Encode(*Make(vocabulary), "abc"), ElementsAre(abc));
}

TEST(TokenizerTest, ReadsSpecialTextsByTypeAndByWhatTheCallerAllows) {
  Vocabulary vocabulary = ByteVocabulary();
  const TokenId control = Add(vocabulary, "<c>", TokenType::kControl);
  const TokenId unknown = Add(vocabulary, "<u>", TokenType::kUnknown);
  const TokenId defined = Add(vocabulary, "<d>", TokenType::kUserDefined);
  const TokenId unused = Add(vocabulary, "<x>", TokenType::kUnused);
  const auto tokenizer = Make(std::move(vocabulary));
  EXPECT_THAT(Encode(*tokenizer, "<c><u><d>"), ElementsAre(control, unknown, defined));
  EXPECT_THAT(Encode(*tokenizer, "<c><d>", SpecialText::kIsPlainText),
              ElementsAre('<', 'c', '>', defined));
  EXPECT_THAT(Encode(*tokenizer, "<x>"), ElementsAre('<', 'x', '>'));
  EXPECT_TRUE(tokenizer->IsSpecial(defined) && !tokenizer->IsControl(defined));
  EXPECT_FALSE(tokenizer->IsSpecial(unused));
}

TEST(TokenizerTest, NeverMergesTextIntoAControlToken) {
  Vocabulary vocabulary = ByteVocabulary();
  Add(vocabulary, "ab", TokenType::kControl);
  vocabulary.merges = {"a b"};
  vocabulary.pre = "llama-bpe";
  EXPECT_THAT(Encode(*Make(vocabulary), "ab", SpecialText::kIsPlainText), ElementsAre('a', 'b'));

  Vocabulary pieces = SentencePieceVocabulary();
  pieces.add_bos = pieces.add_space_prefix = false;
  AddScored(pieces, "<s", 0);
  const Ids ids = Encode(*Make(pieces), "<s>", SpecialText::kIsPlainText);
  EXPECT_EQ(ids.size(), 2u);
}

TEST(TokenizerTest, AddsBosAndEosByFamilyAndFlagButNeverTwice) {
  Vocabulary vocabulary = ByteVocabulary();
  const TokenId bos = Add(vocabulary, "<s>", TokenType::kControl);
  const TokenId eos = Add(vocabulary, "</s>", TokenType::kControl);
  vocabulary.ids.bos = bos;
  vocabulary.ids.eos = eos;
  EXPECT_THAT(Encode(*Make(vocabulary), "a"), ElementsAre('a'));
  vocabulary.pre = "llama-bpe";
  EXPECT_THAT(Encode(*Make(vocabulary), "a"), ElementsAre(bos, 'a'));
  vocabulary.add_eos = true;
  EXPECT_THAT(Encode(*Make(vocabulary), "a"), ElementsAre(bos, 'a', eos));
  EXPECT_THAT(Encode(*Make(vocabulary), "<s>a</s>"), ElementsAre(bos, 'a', eos));
  EXPECT_THAT(Encode(*Make(vocabulary), ""), ElementsAre(bos, eos));
  vocabulary.add_bos = false;
  EXPECT_THAT(Encode(*Make(vocabulary), "a"), ElementsAre('a', eos));
  vocabulary.add_bos = true;
  vocabulary.ids.bos.reset();
  EXPECT_THAT(Encode(*Make(vocabulary), "a"), ElementsAre('a', eos));
}

TEST(TokenizerTest, JoinsSentencePiecesByScoreWithASpaceInFront) {
  Vocabulary vocabulary = SentencePieceVocabulary();
  const TokenId a = AddScored(vocabulary, "▁a", -1);
  const TokenId bc = AddScored(vocabulary, "bc", -2);
  AddScored(vocabulary, "ab", -3);
  const TokenId b = AddScored(vocabulary, "b", -4);
  const auto tokenizer = Make(vocabulary);
  EXPECT_THAT(Encode(*tokenizer, "abc a"), ElementsAre(1, a, bc, a));
  EXPECT_THAT(Encode(*tokenizer, "ab"), ElementsAre(1, a, b));
  vocabulary.add_space_prefix = false;
  const auto bare = Make(vocabulary);
  EXPECT_THAT(Encode(*bare, "bc a"), ElementsAre(1, bc, a));
}

TEST(TokenizerTest, PutsTheSpaceAfterSpecialTokensTooAndTakesItOutAgain) {
  Vocabulary vocabulary = SentencePieceVocabulary();
  const TokenId a = AddScored(vocabulary, "▁a", -1);
  const auto tokenizer = Make(vocabulary);
  const Ids ids = Encode(*tokenizer, "a</s>a a");
  EXPECT_THAT(ids, ElementsAre(1, a, 2, a, a));
  EXPECT_EQ(Decode(*tokenizer, ids), "a</s>a a");
}

TEST(TokenizerTest, WritesCharactersThatAreNoTokenAsTheirBytes) {
  Vocabulary vocabulary = SentencePieceVocabulary();
  vocabulary.add_space_prefix = false;
  AddScored(vocabulary, "▁", -1);
  const auto tokenizer = Make(vocabulary);
  EXPECT_THAT(Encode(*tokenizer, "é"), ElementsAre(1, 3 + 0xC3, 3 + 0xA9));
  EXPECT_EQ(Decode(*tokenizer, Encode(*tokenizer, " é ")), " é ");
  EXPECT_EQ(Encode(*tokenizer, "<0x41>", SpecialText::kIsPlainText).size(), 7u);
}

// "ab" before "bc"; the space and letters are joined in any order of words.
Vocabulary CharacterPairVocabulary() {
  Vocabulary vocabulary = SentencePieceVocabulary();
  vocabulary.model = Vocabulary::Model::kCharacterPairs;
  vocabulary.scores.clear();
  for (const char* text : {"a", "b", "c", "▁", "ab", "bc", "▁a", "▁ab", "c▁", "\n", "\n\n"}) {
    Add(vocabulary, text);
  }
  vocabulary.merges = {"a b", "b c", "▁ ab", "c ▁", "▁ a", "\n \n"};
  return vocabulary;
}

TEST(TokenizerTest, JoinsCharactersByRankAcrossWords) {
  const auto tokenizer = Make(CharacterPairVocabulary());
  const auto id_of = [](absl::string_view text) {
    const Vocabulary vocabulary = CharacterPairVocabulary();
    return static_cast<TokenId>(
        std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), text) -
        vocabulary.tokens.begin());
  };
  const TokenId bos = *tokenizer->bos();
  // No space is put in front, and one is joined to the word before it where that ranks better.
  EXPECT_THAT(Encode(*tokenizer, "abc"), ElementsAre(bos, id_of("ab"), id_of("c")));
  EXPECT_THAT(Encode(*tokenizer, "b ab"), ElementsAre(bos, id_of("b"), id_of("▁ab")));
  EXPECT_THAT(Encode(*tokenizer, "bbc b"),
              ElementsAre(bos, id_of("b"), id_of("bc"), id_of("▁"), id_of("b")));
  EXPECT_THAT(Encode(*tokenizer, "cc a"), ElementsAre(bos, id_of("c"), id_of("c▁"), id_of("a")));
  EXPECT_EQ(Decode(*tokenizer, Encode(*tokenizer, " b ab\n\nca ")), " b ab\n\nca ");
}

TEST(TokenizerTest, LineEndsStandAloneAndAreTakenWholeWhereTheyAreAToken) {
  Vocabulary vocabulary = CharacterPairVocabulary();
  const TokenId three = Add(vocabulary, "\n\n\n");  // No merge makes it.
  vocabulary.merges.push_back("a \n");              // And none crosses the end of a line.
  const auto tokenizer = Make(vocabulary);
  const Ids ids = Encode(*tokenizer, "a\n\n\na\n\n\n\n");
  ASSERT_EQ(ids.size(), 6u);
  EXPECT_EQ(ids[2], three);
  EXPECT_EQ(ids[4], ids[5]);  // Four of them: two and two.
  EXPECT_EQ(tokenizer->BytesOf(ids[4]), "\n\n");
}

TEST(TokenizerTest, CharactersWithoutATokenAreTheirBytesBetweenMerges) {
  const auto tokenizer = Make(CharacterPairVocabulary());
  const Ids ids = Encode(*tokenizer, "abéab");
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids[1], ids[4]);
  EXPECT_EQ(tokenizer->BytesOf(ids[1]), "ab");
  EXPECT_THAT(Ids({ids[2], ids[3]}), ElementsAre(3 + 0xC3, 3 + 0xA9));
}

TEST(TokenizerTest, TakesTheUnknownTokenWhereByteTokensAreMissing) {
  Vocabulary vocabulary;
  vocabulary.model = Vocabulary::Model::kSentencePiece;
  vocabulary.add_space_prefix = false;
  const TokenId a = Add(vocabulary, "a");
  const absl::Status status = Make(vocabulary)->Encode("é", SpecialText::kIsToken).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_tokens");
  EXPECT_THAT(std::string(status.message()), HasSubstr("U+00E9"));
  const TokenId unknown = Add(vocabulary, "<unk>", TokenType::kUnknown);
  EXPECT_THAT(Encode(*Make(vocabulary), "aé"), ElementsAre(a, unknown));
}

TEST(TokenizerTest, EncodesContentOfAPromptWithoutItsControlTokens) {
  Vocabulary vocabulary = ByteVocabulary();
  const TokenId end = Add(vocabulary, "<e>", TokenType::kControl);
  const TokenId two_line_ends = Add(vocabulary, "ĊĊ");
  vocabulary.merges = {"Ċ Ċ"};
  const auto tokenizer = Make(vocabulary);
  const auto encode = [&](const std::vector<TextPiece>& pieces) {
    return tokenizer->EncodePieces(pieces).value_or(Ids());
  };
  EXPECT_THAT(encode({{"<e>", SpecialText::kIsPlainText}, {"<e>", SpecialText::kIsToken}}),
              ElementsAre('<', 'e', '>', end));
  // Pieces share tokens, unless one begins a token of its own.
  EXPECT_THAT(encode({{"\n"}, {"\n"}}), ElementsAre(two_line_ends));
  EXPECT_THAT(encode({{"\n"}, {"\n", SpecialText::kIsPlainText, /*starts_token=*/true}}),
              ElementsAre('\n', '\n'));
  EXPECT_THAT(encode({{"<", SpecialText::kIsToken}, {"e>", SpecialText::kIsToken}}),
              ElementsAre('<', 'e', '>'));
  EXPECT_TRUE(encode({}).empty());
}

TEST(TokenizerTest, ContentIsNoMarkWhateverTypeTheFileGivesIt) {
  for (const TokenType type : {TokenType::kControl, TokenType::kUserDefined, TokenType::kNormal}) {
    Vocabulary bytes = ByteVocabulary();
    const TokenId end = Add(bytes, "<|e|>", type);
    Add(bytes, "<|");
    Add(bytes, "|>");
    Add(bytes, "<|e");
    bytes.merges = {"< |", "| >", "<| e", "<|e |>"};
    Vocabulary pieces = SentencePieceVocabulary();
    AddScored(pieces, "<|", 1);
    AddScored(pieces, "|>", 1);
    AddScored(pieces, "<|e", 2);
    const TokenId piece_end = AddScored(pieces, "<|e|>", 3);
    pieces.types[piece_end] = type;
    for (const auto& [vocabulary, id] : {std::pair(bytes, end), std::pair(pieces, piece_end)}) {
      const auto tokenizer = Make(vocabulary);
      const Ids ids = *tokenizer->EncodePieces(
          {{"<|e|>", SpecialText::kIsToken}, {"<|e|>", SpecialText::kIsContent}});
      EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 1);
      EXPECT_EQ(ids.front(), id);
      std::string text;
      for (const TokenId one : ids) text += tokenizer->BytesOf(one);
      EXPECT_THAT(text, testing::AnyOf("<|e|><|e|>", "<|e|>\u2581<|e|>"));
      EXPECT_EQ(tokenizer->SpecialTokenOf("<|e|>"), id);
      EXPECT_EQ(tokenizer->SpecialTokenOf("<|e|>x"), std::nullopt);
    }
  }
}

TEST(TokenizerTest, WhiteSpaceThatIsUserDefinedIsFoundInContent) {
  Vocabulary vocabulary = ByteVocabulary();
  const TokenId spaces = Add(vocabulary, "  ", TokenType::kUserDefined);
  const TokenId word = Add(vocabulary, "<a>", TokenType::kUserDefined);
  const auto tokenizer = Make(vocabulary);
  EXPECT_THAT(*tokenizer->EncodePieces({{"  x", SpecialText::kIsContent}}),
              ElementsAre(spaces, 'x'));
  EXPECT_THAT(*tokenizer->EncodePieces({{"<a>", SpecialText::kIsPlainText}}), ElementsAre(word));
  EXPECT_THAT(*tokenizer->EncodePieces({{"<a>", SpecialText::kIsContent}}),
              ElementsAre('<', 'a', '>'));
}

TEST(TokenizerTest, ShowsTokensOutsideTheByteAlphabetAsTheyAre) {
  Vocabulary vocabulary = ByteVocabulary();
  const TokenId raw = Add(vocabulary, "世 界");
  const TokenId defined = Add(vocabulary, "Ġ", TokenType::kUserDefined);
  const auto tokenizer = Make(vocabulary);
  EXPECT_EQ(tokenizer->BytesOf(raw), "世 界");
  EXPECT_EQ(tokenizer->BytesOf(defined), "Ġ");
  EXPECT_EQ(tokenizer->BytesOf(0x20), " ");
}

}  // namespace
}  // namespace strata
