#include "strata/core/cli/flag_validators.h"

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(FlagValidatorsTest, ARefusalIsSaidOnce) {
  EXPECT_TRUE(IsPositive("slots", 1));
  EXPECT_EQ(TakeRefusal(), "");
  EXPECT_FALSE(IsPositive("slots", 0));
  EXPECT_EQ(TakeRefusal(), "must be 1 or more");
  EXPECT_EQ(TakeRefusal(), "");
}

TEST(FlagValidatorsTest, AMemoryOfAFewBytesIsNotMeant) {
  for (const char* memory : {"", "0", "12GiB", "12G", "12B", "1048576", "4.5MiB"}) {
    EXPECT_TRUE(IsMemorySize("vram", memory)) << memory;
  }
  EXPECT_FALSE(IsMemorySize("vram", "12"));
  EXPECT_EQ(TakeRefusal(), "is 12 bytes, hardly what is meant: write 12GiB, or 12B");
  EXPECT_FALSE(IsMemorySize("vram", "12XB"));
  EXPECT_EQ(TakeRefusal(), "must be a size such as 12GiB, 512MiB or 4096");
}

}  // namespace
}  // namespace strata
