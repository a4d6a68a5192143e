#include "strata/generate/tokenizer/byte_alphabet.h"

#include <string>

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(ByteAlphabetTest, SpellsBytesAsGpt2Does) {
  EXPECT_EQ(SpellingOfBytes(" the\n"), "ĠtheĊ");
  EXPECT_EQ(SpellingOfBytes("é~!"), "Ã©~!");
  EXPECT_EQ(SpellingOfBytes(std::string("\0\x7F\xA0\xAD", 4)), "ĀġłŃ");
}

TEST(ByteAlphabetTest, ReadsEveryByteBack) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  EXPECT_EQ(BytesOfSpelling(SpellingOfBytes(bytes)), bytes);
}

TEST(ByteAlphabetTest, ReadsNoSpellingWithOtherCharacters) {
  EXPECT_EQ(BytesOfSpelling("a b"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("▁the"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("\xFF"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling(""), "");
}

}  // namespace
}  // namespace strata
