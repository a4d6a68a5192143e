#include "strata/core/utf8.h"

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(Utf8Test, AcceptsCharactersOfEveryLength) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"));
  EXPECT_TRUE(IsUtf8("\xf4\x8f\xbf\xbf"));  // U+10FFFF.
  EXPECT_EQ(Utf8CharacterBytes("\xe2\x82\xac tail"), 3u);
}

TEST(Utf8Test, RefusesWhatNoEncoderWrites) {
  EXPECT_FALSE(IsUtf8("\x80"));              // A second byte first.
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));          // Two bytes for one.
  EXPECT_FALSE(IsUtf8("\xe0\x80\xaf"));      // Three bytes for one.
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));      // A surrogate.
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));  // Past U+10FFFF.
  EXPECT_FALSE(IsUtf8("a\xe2\x82"));         // Cut off.
  EXPECT_EQ(Utf8CharacterBytes(""), 0u);
}

TEST(Utf8Test, PrintsOrdinaryTextAsItIs) {
  EXPECT_EQ(Printable("caf\xc3\xa9 \xe4\xbd\xa0", 80), "caf\xc3\xa9 \xe4\xbd\xa0");
}

TEST(Utf8Test, PrintsWhatWouldMoveTheCursorAsEscapes) {
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

TEST(Utf8Test, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdef", 5), "abcde...");
  EXPECT_EQ(Printable("ab\xe2\x82\xac", 4), "ab...");
}

}  // namespace
}  // namespace strata
