#include "strata/core/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace strata {
namespace {

using Status = Utf8Character::Status;

TEST(Utf8Test, DecodesTheFirstAndLastCharacterOfEachLength) {
  for (const char32_t code_point : {U'\0', U'\x7F', U'\x80', U'\u07FF', U'\u0800', U'\uD7FF',
                                    U'\uE000', U'\uFFFF', U'\U00010000', U'\U0010FFFF'}) {
    std::string bytes;
    AppendUtf8(code_point, bytes);
    const Utf8Character character = FirstUtf8Character(bytes + "x");
    EXPECT_EQ(character.status, Status::kWellFormed);
    EXPECT_EQ(character.code_point, code_point);
    EXPECT_EQ(character.num_bytes, bytes.size());
  }
}

TEST(Utf8Test, TellsTheBeginningOfACharacterFromBytesThatBeginNone) {
  EXPECT_EQ(FirstUtf8Character("\xE4\xBD").status, Status::kIncomplete);
  EXPECT_EQ(FirstUtf8Character("\xE4\xBD").num_bytes, 2u);
  EXPECT_EQ(FirstUtf8Character("\xF0").status, Status::kIncomplete);
  EXPECT_EQ(FirstUtf8Character("\xE4(").status, Status::kIllFormed);
  EXPECT_EQ(FirstUtf8Character("\xE4(").num_bytes, 1u);
}

TEST(Utf8Test, RefusesOverlongFormsSurrogatesAndWhatLiesAboveUnicode) {
  for (const char* bytes : {"\xC0\xAF", "\xC1\x80", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",
                            "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xFF",
                            // Not even a beginning:
                            "\xE0\x9F", "\xED\xA0", "\xF4\x90"}) {
    EXPECT_EQ(FirstUtf8Character(bytes).status, Status::kIllFormed);
  }
}

TEST(Utf8Test, KnowsTextThatIsWellFormedAsAWhole) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\u00e9\u20ac\U0001f642"));
  EXPECT_FALSE(IsUtf8("a\xe2\x82"));
  EXPECT_FALSE(IsUtf8("a\x80z"));
}

TEST(Utf8Test, ReplacesIllFormedBytesOneByOne) {
  EXPECT_EQ(ReplaceIllFormedUtf8("a\xFFé\xE2\x82"), "a\uFFFDé\uFFFD\uFFFD");
  EXPECT_EQ(ReplaceIllFormedUtf8(""), "");
}

}  // namespace
}  // namespace strata
