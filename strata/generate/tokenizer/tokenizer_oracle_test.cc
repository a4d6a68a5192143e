// The tokenizer against the ids of an independent implementation.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/tokenizer/detokenizer.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/oracle_strings.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

class TokenizerOracleTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(OracleVocabularyPath());
    ASSERT_TRUE(file.ok()) << file.status();
    absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = LoadTokenizer(**file);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    tokenizer_ = *std::move(tokenizer);
  }

  std::vector<TokenId> Encode(const std::string& text, SpecialText special_text) const {
    absl::StatusOr<std::vector<TokenId>> ids = tokenizer_->Encode(text, special_text);
    EXPECT_TRUE(ids.ok()) << ids.status();
    return ids.value_or(std::vector<TokenId>());
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(TokenizerOracleTest, GivesTheSameIdsAndTheTextBack) {
  const std::vector<OracleString> strings = OracleStrings();
  ASSERT_EQ(strings.size(), 154u);
  for (const OracleString& oracle : strings) {
    if (oracle.is_taken_differently) continue;
    SCOPED_TRACE(oracle.name);
    EXPECT_EQ(Encode(oracle.text, SpecialText::kIsToken), oracle.ids);
    EXPECT_EQ(Encode(oracle.text, SpecialText::kIsPlainText), oracle.ids_no_special);
    EXPECT_EQ(Decode(*tokenizer_, oracle.ids), oracle.decoded);
    EXPECT_EQ(Decode(*tokenizer_, oracle.ids_no_special), oracle.decoded);
  }
}

TEST_F(TokenizerOracleTest, ReadsEachByteOfIllFormedTextAsAReplacementCharacter) {
  int num_tried = 0;
  for (const OracleString& oracle : OracleStrings()) {
    if (!oracle.is_taken_differently) continue;
    ++num_tried;
    SCOPED_TRACE(oracle.name);
    std::string replaced;
    for (size_t i = 0; i < oracle.text.size(); ++i) replaced += "\uFFFD";
    const std::vector<TokenId> ids = Encode(oracle.text, SpecialText::kIsToken);
    EXPECT_EQ(ids.size(), 3 * oracle.text.size());
    EXPECT_EQ(Decode(*tokenizer_, ids), replaced);
  }
  EXPECT_EQ(num_tried, 3);
}

TEST_F(TokenizerOracleTest, EndsAnswersAtTheEndTokensOfChatMl) {
  std::vector<TokenId> ends;
  for (TokenId id = 0; id < tokenizer_->num_tokens(); ++id) {
    if (tokenizer_->EndsGeneration(id)) ends.push_back(id);
  }
  EXPECT_EQ(ends, (std::vector<TokenId>{0, 2}));
}

}  // namespace
}  // namespace strata
