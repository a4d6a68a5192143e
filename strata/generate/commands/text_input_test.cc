#include "strata/generate/commands/text_input.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FileOf(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/text_input";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

absl::StatusOr<std::string> PromptOf(const std::string& bytes) { return ReadPrompt(FileOf(bytes)); }

TEST(TextInputTest, AMarkAndOneLineEndArePartOfTheFileAndNotOfThePrompt) {
  EXPECT_EQ(*PromptOf("In the beginning"), "In the beginning");
  EXPECT_EQ(*PromptOf("In the beginning\n"), "In the beginning");
  EXPECT_EQ(*PromptOf("In the beginning\r\n"), "In the beginning");
  EXPECT_EQ(*PromptOf("In the beginning\n\n"), "In the beginning\n");
  EXPECT_EQ(*PromptOf("\xef\xbb\xbfIn\xef\xbb\xbf the\n"), "In\xef\xbb\xbf the");
  EXPECT_EQ(*PromptOf("\r"), "\r");
  EXPECT_EQ(*PromptOf(""), "");
}

TEST(TextInputTest, WideEncodingsAreRefusedByName) {
  const std::string utf16("\xff\xfeI\0n\0", 6), big("\xfe\xff\0I\0n", 6);
  const std::string utf32("\xff\xfe\0\0I\0\0\0", 8), unmarked("I\0n\0 \0t\0", 8);
  for (const std::string& bytes : {utf16, big, unmarked}) {
    const absl::Status status = PromptOf(bytes).status();
    EXPECT_EQ(ErrorKind(status), "prompt_encoding");
    EXPECT_THAT(std::string(status.message()), HasSubstr("UTF-16"));
  }
  EXPECT_THAT(std::string(PromptOf(utf32).status().message()), HasSubstr("UTF-32"));
  EXPECT_TRUE(PromptOf(std::string("a\0b and more", 12)).ok()) << "a zero alone is no encoding";
}

TEST(TextInputTest, BytesThatAreNoTextAreSaid) {
  const NoteCapture capture;
  EXPECT_EQ(*PromptOf("caf\xe9"), "caf\xe9");
  EXPECT_THAT(capture.notes(), ElementsAre(HasSubstr("is not all UTF-8")));
}

TEST(TextInputTest, IdsMayBeginWithAMark) {
  EXPECT_THAT(*ReadTokenIds(FileOf("\xef\xbb\xbf"
                                   "1 2\r\n3"),
                            4),
              ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace strata
