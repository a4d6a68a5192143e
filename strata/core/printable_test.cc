#include "strata/core/printable.h"

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(PrintableTest, PrintsOrdinaryTextAsItIs) {
  EXPECT_EQ(Printable("caf\xc3\xa9 \xe4\xbd\xa0", 80), "caf\xc3\xa9 \xe4\xbd\xa0");
}

TEST(PrintableTest, PrintsWhatWouldMoveTheCursorAsEscapes) {
  EXPECT_EQ(Printable(absl::string_view("\x1b[2J\n\r\t\0\\", 9), 80), "\\x1b[2J\\n\\r\\t\\x00\\\\");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J",
                      80),
            "\\x9b2J");  // C1 control.
  EXPECT_EQ(Printable("\xe2\x80\xae"
                      "abc",
                      80),
            "\\u202eabc");  // Right-to-left override.
  EXPECT_EQ(Printable("\xff\xfe", 80), "\\xff\\xfe");
}

TEST(PrintableTest, EscapesEveryByteThatBelongsToNoCharacter) {
  EXPECT_EQ(Printable("\xe6\x97", 80), "\\xe6\\x97");                    // Half of one.
  EXPECT_EQ(Printable("\xed\xa0\x80", 80), "\\xed\\xa0\\x80");           // A surrogate.
  EXPECT_EQ(Printable("\xf4\x90\x80\x80", 80), "\\xf4\\x90\\x80\\x80");  // Past U+10FFFF.
}

TEST(PrintableTest, AMessageKeepsTheEscapesThatItQuotes) {
  EXPECT_EQ(WithoutControls("key '\\x1b' of \x1b[31m\n"), "key '\\x1b' of \\x1b[31m\\n");
}

TEST(PrintableTest, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdef", 5), "abcde...");
  EXPECT_EQ(Printable("ab\xe2\x82\xac", 4), "ab...");
}

}  // namespace
}  // namespace strata
