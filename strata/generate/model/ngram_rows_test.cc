#include "strata/generate/model/ngram_rows.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

// Hashes of 2 and of 3 tokens, two heads each.
NgramEmbedding SmallTable() {
  NgramEmbedding ngrams;
  ngrams.num_tokens = 3;
  ngrams.end_token = 9;
  ngrams.multipliers = {1000003, 29, 12345678901234567};
  ngrams.heads = {{0, 7}, {7, 11}, {18, 13}, {31, 17}};
  return ngrams;
}

std::vector<int64_t> RowsOf(const std::vector<int32_t>& newest_first) {
  std::vector<int64_t> rows(4);
  NgramRows(SmallTable(), newest_first, absl::MakeSpan(rows));
  return rows;
}

TEST(NgramRowsTest, AreTheRestsOfHashesBehindTheFirstRowsOfTheirHeads) {
  const uint64_t two = (uint64_t{4} * 1000003) ^ (uint64_t{5} * 29);
  const uint64_t three = two ^ (uint64_t{600000} * 12345678901234567);  // Goes round.
  EXPECT_EQ(RowsOf({4, 5, 600000}),
            (std::vector<int64_t>{static_cast<int64_t>(two % 7), static_cast<int64_t>(7 + two % 11),
                                  static_cast<int64_t>(18 + three % 13),
                                  static_cast<int64_t>(31 + three % 17)}));
}

TEST(NgramRowsTest, AnEndHidesWhatComesBeforeIt) {
  EXPECT_EQ(RowsOf({4, 9, 6}), RowsOf({4, 9, 9}));
  EXPECT_NE(RowsOf({4, 5, 6}), RowsOf({4, 5, 9}));
}

TEST(NgramRowsTest, AnEndThatIsTheNewestHidesNothing) {
  EXPECT_NE(RowsOf({9, 5, 6}), RowsOf({9, 9, 9}));
  EXPECT_NE(RowsOf({9, 5, 6}), RowsOf({9, 5, 9}));
}

}  // namespace
}  // namespace strata
