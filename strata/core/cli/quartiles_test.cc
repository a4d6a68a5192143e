#include "strata/core/cli/quartiles.h"

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(QuartilesTest, AreValuesWhereTheyFallOnOne) {
  const Quartiles quartiles = Quartiles::Of({5, 1, 4, 2, 3});
  EXPECT_EQ(quartiles.first, 2);
  EXPECT_EQ(quartiles.median, 3);
  EXPECT_EQ(quartiles.third, 4);
}

TEST(QuartilesTest, LieBetweenTwoValuesWhereTheyFallBetweenThem) {
  const Quartiles quartiles = Quartiles::Of({10, 20});
  EXPECT_EQ(quartiles.first, 12.5);
  EXPECT_EQ(quartiles.median, 15);
  EXPECT_EQ(quartiles.third, 17.5);
}

TEST(QuartilesTest, OfOneValueAreThatValue) {
  const Quartiles quartiles = Quartiles::Of({7});
  EXPECT_EQ(quartiles.first, 7);
  EXPECT_EQ(quartiles.third, 7);
}

}  // namespace
}  // namespace strata
