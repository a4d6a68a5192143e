#include "strata/generate/chat/jinja/characters.h"

#include "gtest/gtest.h"
#include "strata/generate/chat/jinja/marked_text.h"

namespace strata::jinja {
namespace {

TEST(CharactersTest, ChangesCaseAsPythonDoes) {
  EXPECT_EQ(Upper(MarkedText("straße ŉ ﬁ ǆ")).text(), "STRASSE ʼN FI Ǆ");
  EXPECT_EQ(Lower(MarkedText("ΑΣ ΣΑΣ. İ")).text(), "ας σας. i̇");
  EXPECT_EQ(Title(MarkedText("ǆa they're ﬁne")).text(), "ǅa They'Re Fine");
  EXPECT_EQ(Capitalize(MarkedText("éCOLE Σ")).text(), "École σ");
  EXPECT_EQ(SwapCase(MarkedText("aBß")).text(), "AbSS");
}

TEST(CharactersTest, KeepsMarksWhereCaseChangesLengths) {
  MarkedText text("ß");
  text.Append("ß", true);
  EXPECT_EQ(Upper(text).Pieces(), (std::vector<MarkedText::Piece>{{"SS", false}, {"SS", true}}));
}

TEST(CharactersTest, KnowsPythonsWhiteSpace) {
  for (const char32_t c : {U' ', U'\t', U'\x1c', U'\u0085', U'\u00a0', U'\u3000', U'\u2028'}) {
    EXPECT_TRUE(IsSpace(c));
  }
  for (const char32_t c : {U'a', U'\u200b', U'\ufeff', U'\u180e', U'\0'}) EXPECT_FALSE(IsSpace(c));
}

TEST(CharactersTest, SkipsSpaceFromBothEnds) {
  EXPECT_EQ(SkipSpace("\u3000 ab ", 0), 4u);
  EXPECT_EQ(SkipSpaceBackwards("ab \u3000", 6), 2u);
  EXPECT_EQ(SkipSpaceBackwards(" \u00a0", 3), 0u);
}

}  // namespace
}  // namespace strata::jinja
