#include "strata/tools/profile_texts.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

std::string File(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

std::vector<std::string> TextsOf(const std::vector<std::string>& files, const std::string& prompts,
                                 const ProfileShard& shard = {}) {
  const auto texts = ReadProfileTexts(files, prompts, shard);
  EXPECT_TRUE(texts.ok()) << texts.status();
  std::vector<std::string> contents;
  for (const ProfileText& text : *texts) contents.push_back(text.text);
  return contents;
}

TEST(ProfileTextsTest, ALabelIsTheNameWithoutFolderAndTheContent) {
  const std::string label = SourceLabel("/some/where/a.txt", Bytes("abc"));
  EXPECT_THAT(label, StartsWith("a.txt#"));
  EXPECT_EQ(label.size(), 6u + 16u);
  EXPECT_EQ(SourceLabel("a.txt", Bytes("abc")), label);
  EXPECT_NE(SourceLabel("b.txt", Bytes("abc")), label);
  EXPECT_NE(SourceLabel("a.txt", Bytes("abd")), label);
}

TEST(ProfileTextsTest, AnyNameGivesALabel) {
  for (const std::string& name : {std::string("\x1b[2J\n\xff"), std::string(1000, 'a'),
                                  std::string("ends/"), std::string("\u202e")}) {
    EXPECT_TRUE(ExpertProfile::IsSourceLabel(SourceLabel(name, {}))) << name;
  }
}

TEST(ProfileTextsTest, APromptIsALineThatIsNotEmpty) {
  const std::string prompts = File("prompts", "one\r\n\n two \nthree");
  EXPECT_THAT(TextsOf({File("a", "A\nA")}, prompts), ElementsAre("A\nA", "one", " two ", "three"));
  const auto texts = ReadProfileTexts({}, prompts, {});
  EXPECT_EQ((*texts)[0].source, (*texts)[2].source);
}

TEST(ProfileTextsTest, ShardsShareTheTextsAmongThem) {
  const std::vector<std::string> files = {File("a", "A"), File("b", "B"), File("c", "C")};
  const std::string prompts = File("prompts", "1\n\n2\n");
  EXPECT_THAT(TextsOf(files, prompts, {.index = 1, .count = 3}), ElementsAre("A", "1"));
  EXPECT_THAT(TextsOf(files, prompts, {.index = 2, .count = 3}), ElementsAre("B", "2"));
  EXPECT_THAT(TextsOf(files, prompts, {.index = 3, .count = 3}), ElementsAre("C"));
  EXPECT_THAT(TextsOf(files, prompts, {.index = 9, .count = 9}), ElementsAre());
}

TEST(ProfileTextsTest, AShardIsINumberOfN) {
  const auto shard = ProfileShard::Parse("2/5");
  ASSERT_TRUE(shard.ok()) << shard.status();
  EXPECT_EQ(shard->index, 2u);
  EXPECT_EQ(shard->count, 5u);
  for (const char* wrong : {"", "1", "0/2", "3/2", "a/2", "1/b", "1/2/3", "-1/2", "0/0"}) {
    EXPECT_EQ(ExitCodeOf(ProfileShard::Parse(wrong).status()), ExitCode::kCommandLine) << wrong;
  }
}

TEST(ProfileTextsTest, AFileThatCannotBeReadIsNamed) {
  const auto texts = ReadProfileTexts({"/no/such"}, "", {});
  EXPECT_EQ(ErrorKind(texts.status()), "io");
  EXPECT_EQ(ErrorFile(texts.status()), "/no/such");
}

}  // namespace
}  // namespace strata
