#include "strata/generate/chat/jinja/marked_text.h"

#include <vector>

#include "gtest/gtest.h"

namespace strata::jinja {
namespace {

using Pieces = std::vector<MarkedText::Piece>;

TEST(MarkedTextTest, JoinsNeighboursOfOneMark) {
  MarkedText text("ab");
  text.Append("c", false);
  text.Append("", true);
  text.Append("d", true);
  text.Append("e", true);
  text.Append("f", false);
  EXPECT_EQ(text.text(), "abcdef");
  EXPECT_EQ(text.Pieces(), (Pieces{{"abc", false}, {"de", true}, {"f", false}}));
}

TEST(MarkedTextTest, KeepsMarksInParts) {
  MarkedText text("ab", true);
  text.Append("cd", false);
  text.Append("ef", true);
  EXPECT_EQ(text.Part(0, 6).Pieces(), text.Pieces());
  EXPECT_EQ(text.Part(1, 5).Pieces(), (Pieces{{"b", true}, {"cd", false}, {"e", true}}));
  EXPECT_EQ(text.Part(2, 4).Pieces(), (Pieces{{"cd", false}}));
  EXPECT_EQ(text.Part(3, 3).Pieces(), Pieces());
  MarkedText more("x");
  more.AppendPart(text, 1, 3);
  EXPECT_EQ(more.Pieces(), (Pieces{{"x", false}, {"b", true}, {"c", false}}));
}

TEST(MarkedTextTest, TellsWhetherAByteIsContent) {
  MarkedText text("a", false);
  EXPECT_FALSE(text.HasContent());
  text.Append("bc", true);
  text.Append("d", false);
  EXPECT_TRUE(text.HasContent());
  EXPECT_FALSE(text.IsContentAt(0));
  EXPECT_TRUE(text.IsContentAt(1));
  EXPECT_TRUE(text.IsContentAt(2));
  EXPECT_FALSE(text.IsContentAt(3));
}

TEST(MarkedTextTest, HasNoContentWhenEmpty) {
  EXPECT_FALSE(MarkedText("", true).HasContent());
  MarkedText text("", true);
  text.Append("a", false);
  EXPECT_EQ(text.Pieces(), (Pieces{{"a", false}}));
}

}  // namespace
}  // namespace strata::jinja
