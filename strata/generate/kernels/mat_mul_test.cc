#include "strata/generate/kernels/mat_mul.h"

#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/row_dot.h"

namespace strata {
namespace {

class MatMulTest : public testing::Test {
 protected:
  static constexpr int kRows = 10;
  static constexpr int kColumns = 512;
  static constexpr int kVectors = 3;

  void SetUp() override {
    std::mt19937 random(1);
    bytes_ = RandomWeights(BlockType::kQ4_K, kRows * kColumns, random);
    weights_ = {BlockType::kQ4_K, kRows, kColumns, bytes_.data()};
    for (ActivationBuffer& buffer : buffers_) {
      ASSERT_TRUE(buffer.Assign(ActivationForm::kA256, RandomActivations(kColumns, random)));
      xs_.push_back(buffer.view());
    }
    for (auto& y : ys_) outs_.push_back(y);
  }

  std::vector<std::byte> bytes_;
  WeightMatrix weights_;
  ActivationBuffer buffers_[kVectors];
  std::vector<ActivationView> xs_;
  float ys_[kVectors][kRows] = {};
  std::vector<float*> outs_;
};

TEST_F(MatMulTest, GivesEachValueTheBitsOfRowDotByAnyRanges) {
  EXPECT_TRUE(MatMul(weights_, {0, 3}, xs_, outs_));
  EXPECT_TRUE(
      MatMul(weights_, {3, kRows}, absl::MakeSpan(xs_).first(1), absl::MakeSpan(outs_).first(1)));
  EXPECT_TRUE(MatMul(weights_, {3, kRows}, absl::MakeSpan(xs_).subspan(1),
                     absl::MakeSpan(outs_).subspan(1)));
  for (int v = 0; v < kVectors; ++v) {
    for (int r = 0; r < kRows; ++r) {
      const float expected = RowDot(BlockType::kQ4_K, weights_.row(r), xs_[v]);
      EXPECT_EQ(std::memcmp(&ys_[v][r], &expected, sizeof(float)), 0) << v << ", " << r;
    }
  }
}

TEST_F(MatMulTest, LeavesOtherRowsAlone) {
  EXPECT_TRUE(MatMul(weights_, {4, 5}, xs_, outs_));
  for (int r = 0; r < kRows; ++r) EXPECT_EQ(ys_[1][r] != 0.0f, r == 4) << r;
}

TEST_F(MatMulTest, ReportsAResultThatIsNotFinite) {
  bytes_[weights_.row_bytes() * 6 + 1] = std::byte{0x7c};  // d of row 6: infinity or NaN.
  EXPECT_TRUE(MatMul(weights_, {0, 6}, xs_, outs_));
  EXPECT_FALSE(MatMul(weights_, {0, kRows}, xs_, outs_));
}

}  // namespace
}  // namespace strata
