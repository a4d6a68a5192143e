#include "strata/generate/commands/answer_text.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

class AnswerTextTest : public ::testing::Test {
 protected:
  AnswerTextTest() {
    const absl::StatusOr<std::unique_ptr<GgufFile>> file =
        GgufFile::Open("testdata/strata-tiny-q4_k_m.gguf");
    EXPECT_TRUE(file.ok()) << file.status();
    tokenizer_ = LoadTokenizer(**file).value();
  }

  std::vector<TokenId> Ids(const std::string& text) {
    return tokenizer_->Encode(text, SpecialText::kIsPlainText).value();
  }

  // What each part's ids, then the end, let through.
  std::vector<std::string> Pieces(AnswerText& answer, const std::vector<std::string>& parts) {
    std::vector<std::string> pieces;
    for (const std::string& part : parts) {
      std::string piece;
      for (const TokenId id : Ids(part)) piece += answer.Add(id);
      pieces.push_back(piece);
    }
    pieces.push_back(answer.Finish());
    return pieces;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(AnswerTextTest, GivesTextAsItComes) {
  AnswerText answer(*tokenizer_, "");
  EXPECT_THAT(Pieces(answer, {"a", "b"}), ElementsAre("a", "b", ""));
  EXPECT_EQ(answer.text(), "ab");
  EXPECT_FALSE(answer.is_stopped());
}

TEST_F(AnswerTextTest, WaitsWhileTheStopTextMayHaveBegun) {
  AnswerText answer(*tokenizer_, "xyz");
  EXPECT_THAT(Pieces(answer, {"a", "x", "y", "b", "x"}), ElementsAre("a", "", "", "xyb", "", "x"));
  EXPECT_FALSE(answer.is_stopped());
}

TEST_F(AnswerTextTest, DropsTheStopTextAndAllBehindIt) {
  AnswerText answer(*tokenizer_, "xyz");
  EXPECT_THAT(Pieces(answer, {"a", "x", "xy", "z", "b"}), ElementsAre("a", "", "x", "", "", ""));
  EXPECT_TRUE(answer.is_stopped());
  EXPECT_EQ(answer.text(), "ax");
}

TEST_F(AnswerTextTest, NeverGivesHalfACharacter) {
  const std::vector<TokenId> ids = Ids("𐍈");
  ASSERT_GT(ids.size(), 1);
  AnswerText answer(*tokenizer_, "");
  for (size_t i = 0; i + 1 < ids.size(); ++i) EXPECT_EQ(answer.Add(ids[i]), "");
  EXPECT_EQ(answer.Add(ids.back()), "𐍈");
}

TEST_F(AnswerTextTest, IdsBeyondTheTokenizersHaveNoText) {
  AnswerText answer(*tokenizer_, "");
  EXPECT_EQ(answer.Add(tokenizer_->num_tokens()), "");
}

}  // namespace
}  // namespace strata
