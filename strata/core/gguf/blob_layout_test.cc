#include "strata/core/gguf/blob_layout.h"

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(BlobLayoutTest, EachPartBeginsAtAMultipleOf256BehindTheOneBefore) {
  BlobLayout layout;
  EXPECT_EQ(layout.bytes(), 0);
  for (const int64_t bytes : {300, 256, 1}) layout.Add(bytes);
  EXPECT_EQ(layout.num_parts(), 3);
  EXPECT_EQ(layout.offset(0), 0);
  EXPECT_EQ(layout.offset(1), 512);
  EXPECT_EQ(layout.offset(2), 512 + 256);
  EXPECT_EQ(layout.bytes(), 512 + 256 + 256);
}

}  // namespace
}  // namespace strata
