#include "strata/generate/tokenizer/merge_list.h"

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace strata {
namespace {

// Pairs of strings that join, with their ranks.
struct Rules {
  using Part = std::string;
  std::optional<Joined<Part>> Find(const Part& left, const Part& right) const {
    const auto rank = ranks.find({left, right});
    if (rank == ranks.end()) return std::nullopt;
    return Joined<Part>{rank->second, left + right};
  }
  std::map<std::pair<std::string, std::string>, uint32_t> ranks;
};

std::vector<std::string> LettersOf(const std::string& text) {
  std::vector<std::string> letters;
  for (const char letter : text) letters.emplace_back(1, letter);
  return letters;
}

std::vector<std::string> Merged(const Rules& rules, const std::string& text) {
  std::vector<std::string> parts = LettersOf(text);
  MergeList<Rules>(rules).Merge(parts);
  return parts;
}

// The definition, in square time.
std::vector<std::string> MergedSlowly(const Rules& rules, const std::string& text) {
  std::vector<std::string> parts = LettersOf(text);
  while (true) {
    std::optional<size_t> best;
    uint32_t best_rank = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto joined = rules.Find(parts[i], parts[i + 1]);
      if (joined && (!best || joined->rank < best_rank)) {
        best = i;
        best_rank = joined->rank;
      }
    }
    if (!best) return parts;
    parts[*best] += parts[*best + 1];
    parts.erase(parts.begin() + *best + 1);
  }
}

TEST(MergeListTest, JoinsTheBestRankFirstNotTheLeftmost) {
  const Rules rules = {{{{"a", "b"}, 1}, {{"b", "c"}, 0}}};
  EXPECT_EQ(Merged(rules, "abc"), (std::vector<std::string>{"a", "bc"}));
}

TEST(MergeListTest, JoinsTheLeftmostOfEqualRanks) {
  const Rules rules = {{{{"a", "a"}, 0}}};
  EXPECT_EQ(Merged(rules, "aaa"), (std::vector<std::string>{"aa", "a"}));
}

TEST(MergeListTest, GoesOnWithWhatWasJoined) {
  const Rules rules = {{{{"a", "b"}, 0}, {{"ab", "ab"}, 1}, {{"abab", "c"}, 2}}};
  EXPECT_EQ(Merged(rules, "ababc"), (std::vector<std::string>{"ababc"}));
}

TEST(MergeListTest, LeavesNothingAndOneAlone) {
  EXPECT_TRUE(Merged({}, "").empty());
  EXPECT_EQ(Merged({}, "a"), (std::vector<std::string>{"a"}));
}

TEST(MergeListTest, AgreesWithTheDefinitionOnRandomRulesOfFewRanks) {
  std::mt19937 random(7);  // NOLINT: the same rules in every run.
  for (int round = 0; round < 3000; ++round) {
    Rules rules;
    std::vector<std::string> known = {"a", "b", "c"};
    const size_t num_rules = random() % 12;
    for (size_t i = 0; i < num_rules; ++i) {
      const std::string left = known[random() % known.size()];
      const std::string right = known[random() % known.size()];
      // Few ranks, so that many are equal, and later rules may come before earlier ones.
      rules.ranks.emplace(std::make_pair(left, right), random() % 5);
      known.push_back(left + right);
    }
    std::string text;
    for (size_t i = random() % 20; i > 0; --i) text.push_back("abc"[random() % 3]);
    ASSERT_EQ(Merged(rules, text), MergedSlowly(rules, text)) << text;
  }
}

}  // namespace
}  // namespace strata
