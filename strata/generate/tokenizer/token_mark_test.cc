#include "strata/generate/tokenizer/token_mark.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

TEST(TokenMarkTest, KnowsTheShapesThatModelsUse) {
  for (const char* mark : {"<|im_end|>", "<｜User｜>", "<|eot|>", "<start_of_turn>", "[INST]",
                           "[/INST]", "[SYSTEM_PROMPT]", "<|turn>", "<tool_call|>"}) {
    EXPECT_TRUE(IsTokenMark(mark)) << mark;
  }
}

TEST(TokenMarkTest, OtherTextIsNone) {
  for (const char* text : {"", "<b>", "<|", "<||>", "<|a b|>", "[1]", "[]", "<a|b>", "[Inst]",
                           "<|a b>", "<|Turn>", "<|im_end|> ", " <|im_end|>", "<|a|><|b|>"}) {
    EXPECT_FALSE(IsTokenMark(text)) << text;
  }
}

TEST(TokenMarkTest, FindsAllInAText) {
  EXPECT_THAT(FindTokenMarks("<|a|>user [x] <<|b|>\n[INST]<|c d|>"),
              ElementsAre("<|a|>", "<|b|>", "[INST]"));
}

}  // namespace
}  // namespace strata
