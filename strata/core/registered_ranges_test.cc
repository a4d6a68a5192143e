#include "strata/core/registered_ranges.h"

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

class RegisteredRangesTest : public ::testing::Test {
 protected:
  RegisteredRanges::Memory Part(size_t begin, size_t end) const {
    return absl::MakeConstSpan(memory_).subspan(begin, end - begin);
  }
  std::vector<size_t> SizesOf(size_t begin, size_t end) const {
    std::vector<size_t> sizes;
    const std::byte* next = memory_.data() + begin;
    for (const RegisteredRanges::Memory part : ranges_.PartsOf(Part(begin, end))) {
      EXPECT_EQ(part.data(), next);
      next += part.size();
      sizes.push_back(part.size());
    }
    return sizes;
  }

  const std::vector<std::byte> memory_ = std::vector<std::byte>(100);
  RegisteredRanges ranges_;
};

TEST_F(RegisteredRangesTest, CutsWhereRangesBeginAndEnd) {
  EXPECT_THAT(SizesOf(0, 100), ElementsAre(100));
  ranges_.Add(Part(20, 40));
  ranges_.Add(Part(40, 50));
  ranges_.Add(Part(70, 71));
  EXPECT_THAT(SizesOf(0, 100), ElementsAre(20, 20, 10, 20, 1, 29));
  EXPECT_THAT(SizesOf(0, 20), ElementsAre(20));
  EXPECT_THAT(SizesOf(20, 40), ElementsAre(20));
  EXPECT_THAT(SizesOf(25, 30), ElementsAre(5));
  EXPECT_THAT(SizesOf(30, 45), ElementsAre(10, 5));
  EXPECT_THAT(SizesOf(50, 70), ElementsAre(20));
  EXPECT_THAT(SizesOf(71, 100), ElementsAre(29));
  EXPECT_THAT(SizesOf(30, 30), ElementsAre());
  ranges_.Remove(memory_.data() + 40);
  EXPECT_THAT(SizesOf(30, 75), ElementsAre(10, 30, 1, 4));
}

}  // namespace
}  // namespace strata
