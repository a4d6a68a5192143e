#include "strata/generate/chat/answer_starts.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/generate/tokenizer/text_piece.h"

namespace strata {
namespace {

using testing::ElementsAre;
using Pieces = std::vector<TextPiece>;

TextPiece Mark(std::string text, bool starts_token = false) {
  return {std::move(text), SpecialText::kIsToken, starts_token};
}
TextPiece Content(std::string text, bool starts_token = false) {
  return {std::move(text), SpecialText::kIsContent, starts_token};
}

TEST(AnswerStartsTest, LeavesAFirstPromptAlone) {
  const Pieces prompt = {Mark("[u]"), Content("Hi"), Mark("[a]")};
  EXPECT_EQ(AnswerStarts().Cut(prompt), prompt);
}

TEST(AnswerStartsTest, CutsWhereAnswersBegan) {
  AnswerStarts starts;
  starts.Add(Pieces{Mark("[u]"), Content("Hi"), Mark("[a]")});
  EXPECT_THAT(
      starts.Cut(Pieces{Mark("[u]"), Content("Hi"), Mark("[a]"), Content("Ho"), Mark("[u]")}),
      ElementsAre(Mark("[u]"), Content("Hi"), Mark("[a]"), Content("Ho", true), Mark("[u]")));
  // Inside a piece: the template writes more before the answer than it did to open it.
  const Pieces second = {Mark("[u]"), Content("Hi"), Mark("[a]//"), Content("Ho"), Mark("[a]")};
  EXPECT_THAT(starts.Cut(second), ElementsAre(Mark("[u]"), Content("Hi"), Mark("[a]"),
                                              Mark("//", true), Content("Ho"), Mark("[a]")));
  starts.Add(second);
  EXPECT_THAT(
      starts.Cut(Pieces{Mark("[u]"), Content("Hi"), Mark("[a]//"), Content("Ho"), Mark("[a]x")}),
      ElementsAre(Mark("[u]"), Content("Hi"), Mark("[a]"), Mark("//", true), Content("Ho"),
                  Mark("[a]"), Mark("x", true)));
}

TEST(AnswerStartsTest, ForgetsStartsBehindAChangeOfThePast) {
  AnswerStarts starts;
  starts.Add(Pieces{Mark("[a]")});
  starts.Add(Pieces{Mark("[a]one[a]")});
  EXPECT_THAT(starts.Cut(Pieces{Mark("[a]two[a]x")}),
              ElementsAre(Mark("[a]"), Mark("two[a]x", true)));
  starts.Add(Pieces{Mark("[a]two[a]")});
  EXPECT_THAT(starts.Cut(Pieces{Mark("[a]one[a]x")}),
              ElementsAre(Mark("[a]"), Mark("one[a]x", true)));
}

}  // namespace
}  // namespace strata
