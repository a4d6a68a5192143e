#include "strata/generate/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

// The pieces with a bar between.
std::string Split(absl::string_view name, absl::string_view text) {
  const std::optional<PreTokenizer> pre_tokenizer = PreTokenizer::ForName(name);
  EXPECT_TRUE(pre_tokenizer.has_value()) << name;
  return pre_tokenizer ? absl::StrJoin(pre_tokenizer->Split(text), "|") : "";
}

TEST(PreTokenizerTest, CutsDigitsByFamily) {
  EXPECT_EQ(Split("qwen2", "a 12345"), "a| |1|2|3|4|5");
  EXPECT_EQ(Split("llama-bpe", "a 12345"), "a| |123|45");
  EXPECT_EQ(Split("gpt-2", "a 12345"), "a| 12345");
  EXPECT_EQ(Split("deepseek-v3", "a 12345"), "a| |123|45");
  EXPECT_EQ(Split("tekken", "a 12345"), "a| |1|2|3|4|5");
  EXPECT_EQ(Split("starcoder", "a 12345"), "a| |1|2|3|4|5");
  EXPECT_EQ(Split("default", "12345"), "123|45");
}

TEST(PreTokenizerTest, KeepsMarksWithTheirWordsFromQwen35On) {
  EXPECT_EQ(Split("qwen2", "हिन्दी"), "ह|िन|्द|ी");
  EXPECT_EQ(Split("qwen35", "हिन्दी"), "हिन्दी");
  EXPECT_EQ(Split("gpt-4o", "हिन्दी"), "हिन्दी");
}

TEST(PreTokenizerTest, CutsWordsAtChangesOfCaseInAnyScriptForGpt4o) {
  EXPECT_EQ(Split("gpt-4o", "HelloWORLD CamelCase"), "Hello|WORLD| Camel|Case");
  EXPECT_EQ(Split("gpt-4o", "ПриветМИР"), "Привет|МИР");
  EXPECT_EQ(Split("gpt-4o", "don't DON'T a/b//\n"), "don't| DON'T| a|/b|//\n");
  EXPECT_EQ(Split("tekken", "don't"), "don|'t");
}

TEST(PreTokenizerTest, CutsHanFromOtherLettersForKimi) {
  EXPECT_EQ(Split("kimi-k2", "abc世界def かな"), "abc|世界|def| かな");
}

TEST(PreTokenizerTest, ExaoneKeepsNeighbouringWordsTogether) {
  EXPECT_EQ(Split("exaone-moe", "hello big world 12"), "hello big world| |1|2");
  EXPECT_EQ(Split("exaone-moe", "a  b, c\n\nd"), "a| | b|,| c|\n\n|d");
}

TEST(PreTokenizerTest, CutsEachPieceOfOnePatternByTheNext) {
  EXPECT_EQ(Split("deepseek-v3", "x=.foo 世界かなabc"), "x|=.|foo| |世界かな|abc");
  EXPECT_EQ(Split("deepseek-coder", "a1 b2\n世"), "a|1| b|2|\n|世");
  EXPECT_EQ(Split("deepseek-llm", "ab 1  "), "ab| |1|  ");
}

TEST(PreTokenizerTest, SeparatesSpacesFromTheWordTheyPrecede) {
  EXPECT_EQ(Split("qwen2", "a   b\n\n  c  "), "a|  | b|\n\n| | c|  ");
  EXPECT_EQ(Split("qwen2", "it's IT'S"), "it|'s| IT|'S");
}

TEST(PreTokenizerTest, KnowsWhichFamiliesSkipMergesAndBeginWithBos) {
  const std::optional<PreTokenizer> llama = PreTokenizer::ForName("llama-bpe");
  EXPECT_TRUE(llama->ignores_merges() && llama->adds_bos());
  const std::optional<PreTokenizer> glm = PreTokenizer::ForName("glm4");
  EXPECT_FALSE(glm->ignores_merges() || glm->adds_bos());
}

TEST(PreTokenizerTest, KnowsNoOtherNames) {
  EXPECT_FALSE(PreTokenizer::ForName("qwen").has_value());
  EXPECT_FALSE(PreTokenizer::ForName("").has_value());
}

TEST(PreTokenizerTest, ListsEachNameOnce) {
  std::vector<std::string> names = PreTokenizer::Names();
  EXPECT_GT(names.size(), 40u);
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(PreTokenizerTest, LosesNoByte) {
  const std::string text = "a\u0301 世界\U0001F600\r\n\t 12,3!  ";
  for (const std::string& name : PreTokenizer::Names()) {
    EXPECT_EQ(absl::StrJoin(PreTokenizer::ForName(name)->Split(text), ""), text) << name;
    EXPECT_TRUE(PreTokenizer::ForName(name)->Split("").empty());
  }
}

}  // namespace
}  // namespace strata
