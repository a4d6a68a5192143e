#include "strata/generate/tokenizer/split_pattern.h"

#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/tokenizer/pre_tokenizer_table.h"

namespace strata {
namespace {

using Pieces = std::vector<std::u32string>;

Pieces Cut(const std::u32string& text, const std::vector<size_t>& ends) {
  Pieces pieces;
  size_t start = 0;
  for (const size_t end : ends) {
    pieces.push_back(text.substr(start, end - start));
    start = end;
  }
  EXPECT_EQ(start, text.size());
  return pieces;
}

Pieces Split(absl::string_view pattern, const std::u32string& text) {
  std::vector<size_t> ends;
  SplitPattern(pattern).Split(absl::MakeConstSpan(text.data(), text.size()), 0, ends);
  return Cut(text, ends);
}

TEST(SplitPatternTest, MakesPiecesOfMatchesAndOfWhatLiesBetween) {
  EXPECT_EQ(Split("b+", U"aabbbca"), (Pieces{U"aa", U"bbb", U"ca"}));
  EXPECT_EQ(Split("b", U"aa"), (Pieces{U"aa"}));
  EXPECT_EQ(Split("b", U""), Pieces());
}

TEST(SplitPatternTest, TakesTheFirstAlternativeThatMatchesThoughAnotherIsLonger) {
  EXPECT_EQ(Split("a|aa|b", U"aab"), (Pieces{U"a", U"a", U"b"}));
}

TEST(SplitPatternTest, GivesBackWhatTheRestNeedsUnlessPossessive) {
  EXPECT_EQ(Split("a*ab", U"aaab"), (Pieces{U"aaab"}));
  EXPECT_EQ(Split("a*+ab", U"aaab"), (Pieces{U"aaab"}));  // No match: one gap.
  EXPECT_EQ(Split("a*+ab|b", U"aaab"), (Pieces{U"aaa", U"b"}));
}

TEST(SplitPatternTest, LooksAheadWithoutTaking) {
  EXPECT_EQ(Split(R"(\s+(?!\S)|\s+)", U"  x "), (Pieces{U" ", U" ", U"x", U" "}));
}

TEST(SplitPatternTest, IgnoresCaseAsUnicodeDoesInSuchAGroupOnly) {
  EXPECT_EQ(Split("(?i:'s|'k)", U"'s'S'\u017F'\u212A'x"),
            (Pieces{U"'s", U"'S", U"'\u017F", U"'\u212A", U"'x"}));
  EXPECT_EQ(Split("(?:'s)", U"'S's"), (Pieces{U"'S", U"'s"}));
}

TEST(SplitPatternTest, CountsEndsFromTheGivenStart) {
  const std::u32string text = U"ab";
  std::vector<size_t> ends = {7};
  SplitPattern("a").Split(absl::MakeConstSpan(text.data(), text.size()), 7, ends);
  EXPECT_EQ(ends, (std::vector<size_t>{7, 8, 9}));
}

// ICU's own engine, which the tools do without because of the size of its data.
class IcuSplitter {
 public:
  explicit IcuSplitter(absl::string_view pattern) {
    UErrorCode error = U_ZERO_ERROR;
    pattern_.reset(icu::RegexPattern::compile(
        icu::UnicodeString::fromUTF8(icu::StringPiece(pattern.data(), pattern.size())), 0, error));
    EXPECT_TRUE(U_SUCCESS(error)) << pattern << ": " << u_errorName(error);
  }

  Pieces Split(const std::u32string& text) const {
    const icu::UnicodeString units = icu::UnicodeString::fromUTF32(
        reinterpret_cast<const UChar32*>(text.data()), static_cast<int32_t>(text.size()));
    UErrorCode error = U_ZERO_ERROR;
    std::unique_ptr<icu::RegexMatcher> matcher(pattern_->matcher(units, error));
    std::vector<size_t> ends;
    size_t piece_start = 0;
    while (matcher->find()) {
      const size_t start = units.countChar32(0, matcher->start(error));
      const size_t end = units.countChar32(0, matcher->end(error));
      if (start > piece_start) ends.push_back(start);
      ends.push_back(end);
      piece_start = end;
    }
    EXPECT_TRUE(U_SUCCESS(error));
    if (piece_start < text.size()) ends.push_back(text.size());
    return Cut(text, ends);
  }

 private:
  std::unique_ptr<icu::RegexPattern> pattern_;
};

// Characters that the patterns tell apart, and some that they should not.
constexpr char32_t kCharacters[] = {
    U' ',      U' ',      U'\n',     U'\r',     U'\t',     U'\u00A0',     U'\u0085',     U'\u3000',
    U'\u2028', U'\u200B', U'\u001C', U'\'',     U'\'',     U's',          U't',          U'r',
    U'e',      U'v',      U'l',      U'm',      U'd',      U'S',          U'T',          U'L',
    U'E',      U'\u017F', U'a',      U'z',      U'A',      U'Z',          U'\u00E9',     U'\u00C9',
    U'\u01C5', U'\u02B0', U'\u00AA', U'\u05D0', U'\u0301', U'\u093F',     U'\u20DD',     U'0',
    U'1',      U'9',      U'\u0663', U'\u00BD', U'\u2167', U'.',          U'/',          U'!',
    U'$',      U'+',      U'|',      U'_',      U'-',      U'[',          U'~',          U'\u2019',
    U'\u3001', U'\uFF01', U'\u20AC', U'\u4E00', U'\u9FA5', U'\u3042',     U'\u30A2',     U'\uAC00',
    U'\u1F7D', U'\u03CE', U'\u0378', U'\uE000', U'\uFFFD', U'\U0001F600', U'\U00020000', U'\u0901',
};

std::u32string RandomText(std::mt19937& random) {
  std::u32string text;
  const size_t size = 1 + random() % 24;
  while (text.size() < size) {
    const char32_t character = kCharacters[random() % std::size(kCharacters)];
    text.append(1 + (random() % 4 == 0 ? random() % 4 : 0), character);
  }
  return text;
}

TEST(SplitPatternTest, AgreesWithIcuOnEveryPatternInUse) {
  std::mt19937 random(4);  // NOLINT: the same strings in every run.
  int num_patterns = 0;
  for (const PreTokenizerRow& row : PreTokenizerTable()) {
    for (const absl::string_view pattern : row.patterns) {
      ++num_patterns;
      SCOPED_TRACE(absl::StrCat(row.names.front(), ": ", pattern));
      const IcuSplitter icu(pattern);
      for (int i = 0; i < 2000; ++i) {
        const std::u32string text = RandomText(random);
        ASSERT_EQ(Split(pattern, text), icu.Split(text));
      }
    }
  }
  EXPECT_GE(num_patterns, 30);
}

}  // namespace
}  // namespace strata
