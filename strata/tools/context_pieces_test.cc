#include "strata/tools/context_pieces.h"

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using Ids = std::vector<TokenId>;

TEST(ContextPiecesTest, CutsWhereTheContextIsFull) {
  EXPECT_THAT(CutIntoContexts({1, 2, 3, 4, 5}, 2, std::nullopt),
              ElementsAre(Ids{1, 2}, Ids{3, 4}, Ids{5}));
  EXPECT_THAT(CutIntoContexts({1, 2, 3}, 3, std::nullopt), ElementsAre(Ids{1, 2, 3}));
  EXPECT_THAT(CutIntoContexts({}, 3, std::nullopt), ElementsAre());
}

TEST(ContextPiecesTest, EachPieceBeginsWithBosWhereTheFirstDoes) {
  EXPECT_THAT(CutIntoContexts({9, 2, 3, 4, 5}, 3, 9), ElementsAre(Ids{9, 2, 3}, Ids{9, 4, 5}));
}

TEST(ContextPiecesTest, ASingleTokenLeavesNoRoomForBos) {
  EXPECT_THAT(CutIntoContexts({9, 2, 3}, 1, 9), ElementsAre(Ids{9}, Ids{2}, Ids{3}));
}

}  // namespace
}  // namespace strata
