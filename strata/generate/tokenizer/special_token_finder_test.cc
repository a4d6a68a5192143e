#include "strata/generate/tokenizer/special_token_finder.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

// "start+bytes=id" of each occurrence.
std::vector<std::string> FindAll(const SpecialTokenFinder& finder, absl::string_view text) {
  std::vector<std::string> found;
  for (const SpecialTokenFinder::Occurrence& occurrence : finder.FindAll(text)) {
    found.push_back(absl::StrCat(occurrence.start, "+", occurrence.num_bytes, "=", occurrence.id));
  }
  return found;
}

TEST(SpecialTokenFinderTest, FindsTokensAnywhereInTheOrderOfTheText) {
  SpecialTokenFinder finder;
  finder.Add("<s>", 1);
  finder.Add("</s>", 2);
  EXPECT_EQ(FindAll(finder, "</s><s>a<s"), (std::vector<std::string>{"0+4=2", "4+3=1"}));
  EXPECT_TRUE(FindAll(finder, "").empty());
}

TEST(SpecialTokenFinderTest, TakesTheLongestFirstEvenFromAnEarlierShorterOne) {
  SpecialTokenFinder finder;
  finder.Add("ab", 1);
  finder.Add("bcd", 2);
  finder.Add("a", 3);
  EXPECT_EQ(FindAll(finder, "abcd"), (std::vector<std::string>{"0+1=3", "1+3=2"}));
}

TEST(SpecialTokenFinderTest, TakesEqualsFromLeftToRight) {
  SpecialTokenFinder finder;
  finder.Add("\n\n", 2);
  finder.Add("\n\n\n", 3);
  EXPECT_EQ(FindAll(finder, "\n\n\n\n\n\n\n\n"),
            (std::vector<std::string>{"0+3=3", "3+3=3", "6+2=2"}));
}

TEST(SpecialTokenFinderTest, FindsNoEmptyText) {
  SpecialTokenFinder finder;
  finder.Add("", 1);
  EXPECT_TRUE(FindAll(finder, "ab").empty());
}

TEST(SpecialTokenFinderTest, KeepsTheLastOfEqualTexts) {
  SpecialTokenFinder finder;
  finder.Add("x", 1);
  finder.Add("x", 2);
  EXPECT_EQ(FindAll(finder, "x"), (std::vector<std::string>{"0+1=2"}));
}

}  // namespace
}  // namespace strata
