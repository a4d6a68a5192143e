#include "strata/generate/tokenizer/detokenizer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/generate/tokenizer/byte_alphabet.h"

namespace strata {
namespace {

constexpr TokenId kControl = 256;

// Ids 0 to 255 are the bytes, 256 is a control token.
std::unique_ptr<Tokenizer> ByteTokenizer() {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(SpellingOfBytes(std::string(1, static_cast<char>(byte))));
  }
  vocabulary.types.assign(256, TokenType::kNormal);
  vocabulary.tokens.push_back("<c>");
  vocabulary.types.push_back(TokenType::kControl);
  return *Tokenizer::Create(std::move(vocabulary));
}

class DetokenizerTest : public testing::Test {
 protected:
  // What each of `ids` shows, and at last what the end shows.
  std::vector<std::string> Stream(const std::vector<TokenId>& ids, bool shows_control = false) {
    Detokenizer detokenizer(*tokenizer_, {.shows_control = shows_control});
    std::vector<std::string> shown;
    for (const TokenId id : ids) shown.push_back(detokenizer.Add(id));
    shown.push_back(detokenizer.Finish());
    return shown;
  }

  using Shown = std::vector<std::string>;
  const std::unique_ptr<Tokenizer> tokenizer_ = ByteTokenizer();
};

TEST_F(DetokenizerTest, WaitsForTheEndOfACharacter) {
  EXPECT_EQ(Stream({0xF0, 0x9F, 0x98, 0x80, 'a'}), (Shown{"", "", "", "😀", "a", ""}));
}

TEST_F(DetokenizerTest, ReplacesBytesOfNoCharacterAsSoonAsThatIsKnown) {
  EXPECT_EQ(Stream({0xFF, 'a'}), (Shown{"\uFFFD", "a", ""}));
  EXPECT_EQ(Stream({0xE4, 0xBD, 'a'}), (Shown{"", "", "\uFFFD\uFFFDa", ""}));
  EXPECT_EQ(Stream({0xE4, 0xC3, 0xA9}), (Shown{"", "\uFFFD", "é", ""}));
}

TEST_F(DetokenizerTest, ReplacesWhatStillWaitsAtTheEnd) {
  EXPECT_EQ(Stream({0xE4, 0xBD}), (Shown{"", "", "\uFFFD\uFFFD"}));
}

TEST_F(DetokenizerTest, ShowsControlTokensOnRequestOnlyAndNeverInsideACharacter) {
  EXPECT_EQ(Stream({'a', kControl, 'b'}), (Shown{"a", "", "b", ""}));
  EXPECT_EQ(Stream({'a', kControl, 'b'}, /*shows_control=*/true), (Shown{"a", "<c>", "b", ""}));
  EXPECT_EQ(Stream({0xE4, kControl, 0xBD}), (Shown{"", "\uFFFD", "\uFFFD", ""}));
}

TEST(DetokenizerSpaceTest, KeepsTheFirstSpaceOfAnAnswerButNotOfAWholeText) {
  Vocabulary vocabulary;
  vocabulary.model = Vocabulary::Model::kSentencePiece;
  vocabulary.tokens = {"▁a", "<s>"};
  vocabulary.types = {TokenType::kNormal, TokenType::kControl};
  vocabulary.ids.bos = 1;
  const std::unique_ptr<Tokenizer> tokenizer = *Tokenizer::Create(std::move(vocabulary));
  EXPECT_EQ(Decode(*tokenizer, std::vector<TokenId>{1, 0, 0}), "a a");
  Detokenizer answer(*tokenizer, {});
  EXPECT_EQ(answer.Add(0), " a");
}

}  // namespace
}  // namespace strata
