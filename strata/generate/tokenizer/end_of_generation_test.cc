#include "strata/generate/tokenizer/end_of_generation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

using testing::ElementsAre;

TEST(EndOfGenerationTest, TakesTheIdsThatTheFileNames) {
  Vocabulary vocabulary;
  vocabulary.tokens = {"a", "b", "c", "d", "e", "f", "g", "h"};
  vocabulary.ids.eos = 6;
  vocabulary.ids.eot = 1;
  vocabulary.ids.eom = 2;
  vocabulary.ids.fim_pad = 3;
  vocabulary.ids.fim_rep = 4;
  vocabulary.ids.fim_sep = 5;
  vocabulary.ids.bos = 0;
  vocabulary.ids.padding = 7;
  EXPECT_THAT(EndOfGenerationTokens(vocabulary), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(EndOfGenerationTest, KnowsEndsByTheirTextAndListsEachOnce) {
  Vocabulary vocabulary;
  vocabulary.tokens = {"a",     "<|im_end|>",    "<｜end▁of▁sentence｜>",
                       "[EOS]", "<end_of_turn>", "</s>"};
  vocabulary.ids.eos = 1;
  EXPECT_THAT(EndOfGenerationTokens(vocabulary), ElementsAre(1, 2, 3, 4, 5));
}

TEST(EndOfGenerationTest, LetsMessagesOfGptOssEndWithinAnAnswer) {
  Vocabulary vocabulary;
  vocabulary.tokens = {"<|end|>", "<|return|>"};
  EXPECT_THAT(EndOfGenerationTokens(vocabulary), ElementsAre(0, 1));
  vocabulary.tokens.push_back("<|call|>");
  EXPECT_THAT(EndOfGenerationTokens(vocabulary), ElementsAre(1, 2));
}

}  // namespace
}  // namespace strata
