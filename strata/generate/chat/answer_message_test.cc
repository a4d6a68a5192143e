#include "strata/generate/chat/answer_message.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/testing/mark_vocabulary.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

using testing::ElementsAre;
using Piece = jinja::MarkedText::Piece;

constexpr size_t kAll = 1000;

class AnswerMessageTest : public testing::Test {
 protected:
  AnswerMessageTest() {
    GgufWriter writer;  // The first of three marks is control, the second user-defined.
    AddBytePairTokenizer({"<|control|>", "</think>", "<|normal|>", "<|message|>", "<|channel|>"},
                         writer);
    ScratchFile scratch;
    scratch.Set(writer.Build());
    tokenizer_ = LoadTokenizer(*GgufFile::Open(scratch.path()).value()).value();
  }

  // Of the ids of `answer`, where texts of special tokens are those.
  ChatMessage MessageOf(const std::string& answer, size_t shown_bytes = kAll) const {
    return AnswerMessage(*tokenizer_, tokenizer_->Encode(answer, SpecialText::kIsToken).value(),
                         shown_bytes);
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(AnswerMessageTest, HoldsTheSpecialTokensThatWereDrawn) {
  const ChatMessage message = MessageOf("Hm.</think>\n\nÀ <|control|>b</s>");
  EXPECT_EQ(message.role, ChatMessage::Role::kAssistant);
  EXPECT_THAT(message.content.Pieces(),
              ElementsAre(Piece{"Hm.", true}, Piece{"</think>", false}, Piece{"\n\nÀ ", true},
                          Piece{"<|control|>", false}, Piece{"b", true}));
  EXPECT_TRUE(message.thinking.empty());
}

TEST_F(AnswerMessageTest, TakesTheLettersOfAMarkForLetters) {
  const std::vector<TokenId> ids =
      tokenizer_->EncodePieces({{{"</think>", SpecialText::kIsContent}}}).value();
  EXPECT_THAT(AnswerMessage(*tokenizer_, ids, kAll).content.Pieces(),
              ElementsAre(Piece{"</think>", true}));
}

TEST_F(AnswerMessageTest, EndsWhereTheShownTextDoes) {
  EXPECT_THAT(MessageOf("<|control|>abc</think>d<|control|>", 5).content.Pieces(),
              ElementsAre(Piece{"<|control|>", false}, Piece{"abc", true}, Piece{"</", false}));
}

TEST_F(AnswerMessageTest, TellsChannelsApart) {
  const ChatMessage message =
      MessageOf("<|channel|>analysis<|message|>T<|channel|>final<|message|>S");
  EXPECT_THAT(message.content.Pieces(), ElementsAre(Piece{"S", true}));
  EXPECT_THAT(message.thinking.Pieces(), ElementsAre(Piece{"T", true}));
}

}  // namespace
}  // namespace strata
