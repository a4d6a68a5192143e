#include "strata/core/cli/printable.h"

#include <string>

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(PrintableTest, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(Printable("Qwen3 30B-A3B, déjà vu, 文字, 🙂"),
            "Qwen3 30B-A3B, déjà vu, 文字, 🙂");
}

TEST(PrintableTest, EscapesWhatSteersATerminal) {
  EXPECT_EQ(Printable("a\x1b[31mred\r\n\t\\"), "a\\x1b[31mred\\r\\n\\t\\\\");
  EXPECT_EQ(Printable(std::string("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(Printable("\u202egnp.exe\ufeff\u009b"), "\\u{202e}gnp.exe\\u{feff}\\u{9b}");
}

TEST(PrintableTest, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("ok \xff\xfe\x80"), "ok \\xff\\xfe\\x80");
  EXPECT_EQ(Printable("\xe6\x97"), "\\xe6\\x97");                    // Half a character.
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");                    // Overlong.
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // A surrogate.
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // Beyond U+10FFFF.
}

TEST(PrintableTest, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdef", 3), "abc... (6 bytes)");
  EXPECT_EQ(Printable("aé文", 4), "aé... (6 bytes)");
}

TEST(PrintableTest, KnowsUtf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("文字 \xf4\x8f\xbf\xbf"));
  EXPECT_FALSE(IsUtf8("\xe6\x97"));
  EXPECT_FALSE(IsUtf8("\xc1\xbf"));
  EXPECT_FALSE(IsUtf8("a\x80"));
}

}  // namespace
}  // namespace strata
