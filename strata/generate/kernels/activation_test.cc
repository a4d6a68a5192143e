#include "strata/generate/kernels/activation.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

constexpr ActivationForm kQuantizedForms[] = {ActivationForm::kA32, ActivationForm::kA256};

std::vector<float> RandomValues(int n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = std::exp2(4 * normal(random)) * normal(random);
  return values;
}

TEST(ActivationTest, ScalesEachBlockByItsLargestMagnitude) {
  std::vector<float> x(64, 0.0f);
  x[3] = -127.0f;
  x[5] = 63.6f;
  x[40] = 2.0f;
  x[41] = -1.0f;
  ActivationBuffer buffer;
  ASSERT_TRUE(buffer.Assign(ActivationForm::kA32, x));
  const ActivationView& view = buffer.view();
  EXPECT_EQ(view.size, 64);
  EXPECT_EQ(view.q[3], -127);
  EXPECT_EQ(view.q[5], 64);
  EXPECT_EQ(view.scales[0], 127.0f * 0x1.020408p-7f);
  EXPECT_EQ(view.q[40], 127);
  EXPECT_EQ(view.q[41], -64);  // -63.5, a tie, goes to the even neighbour.
  EXPECT_EQ(view.scales[1], 2.0f * 0x1.020408p-7f);
}

TEST(ActivationTest, RoundsTiesToEven) {
  std::vector<float> x(32, 0.0f);
  x[0] = 127.0f;
  x[1] = 0.5f;
  x[2] = 1.5f;
  x[3] = 2.5f;
  x[4] = -4.5f;
  ActivationBuffer buffer;
  ASSERT_TRUE(buffer.Assign(ActivationForm::kA32, x));
  EXPECT_EQ(buffer.view().q[1], 0);
  EXPECT_EQ(buffer.view().q[2], 2);
  EXPECT_EQ(buffer.view().q[3], 2);
  EXPECT_EQ(buffer.view().q[4], -4);
}

TEST(ActivationTest, StaysWithin127AndHalfAStepOfTheValue) {
  ActivationBuffer buffer;
  for (ActivationForm form : kQuantizedForms) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
      const std::vector<float> x = RandomValues(512, seed);
      ASSERT_TRUE(buffer.Assign(form, x));
      const ActivationView& view = buffer.view();
      for (int i = 0; i < 512; ++i) {
        const double scale = view.scales[i / BlockSizeOf(form)];
        ASSERT_GE(view.q[i], -127);
        ASSERT_LE(std::abs(x[i] - scale * view.q[i]), 0.50001 * scale);
      }
    }
  }
}

TEST(ActivationTest, StoresTheSumsOfItsForm) {
  ActivationBuffer buffer;
  const std::vector<float> x = RandomValues(512, 7);
  for (ActivationForm form : kQuantizedForms) {
    ASSERT_TRUE(buffer.Assign(form, x));
    const ActivationView& view = buffer.view();
    const int size = SumSizeOf(form);
    EXPECT_EQ(size, form == ActivationForm::kA32 ? 32 : 16);
    for (int j = 0; j < 512 / size; ++j) {
      EXPECT_EQ(view.sums[j], std::accumulate(view.q + j * size, view.q + (j + 1) * size, 0));
    }
  }
}

TEST(ActivationTest, MakesATinyBlockZeroAndTheNextLargerOneNot) {
  std::vector<float> x(64, std::nextafterf(0x1p-100f, 0.0f));
  x[32] = -0x1p-100f;
  ActivationBuffer buffer;
  ASSERT_TRUE(buffer.Assign(ActivationForm::kA32, x));
  EXPECT_EQ(buffer.view().scales[0], 0.0f);
  EXPECT_EQ(buffer.view().q[0], 0);
  EXPECT_EQ(buffer.view().sums[0], 0);
  EXPECT_GT(buffer.view().scales[1], 0.0f);
  EXPECT_EQ(buffer.view().q[32], -127);
}

TEST(ActivationTest, TakesTheLargestFiniteValue) {
  std::vector<float> x(256, std::numeric_limits<float>::max());
  ActivationBuffer buffer;
  ASSERT_TRUE(buffer.Assign(ActivationForm::kA256, x));
  EXPECT_EQ(buffer.view().q[255], 127);
}

TEST(ActivationTest, ReportsNanAndInfinityInAnyForm) {
  ActivationBuffer buffer;
  for (ActivationForm form : {ActivationForm::kF32, ActivationForm::kA32, ActivationForm::kA256}) {
    for (float bad : {INFINITY, -INFINITY, std::nanf(""), -std::nanf("")}) {
      std::vector<float> x(512, 1.0f);
      x[300] = bad;
      EXPECT_FALSE(buffer.Assign(form, x));
    }
    EXPECT_TRUE(buffer.Assign(form, std::vector<float>(512, 1.0f)));
  }
}

TEST(ActivationTest, ConvertsInPartsAsAtOnce) {
  const std::vector<float> x = RandomValues(768, 3);
  for (ActivationForm form : kQuantizedForms) {
    ActivationBuffer whole, parts;
    ASSERT_TRUE(whole.Assign(form, x));
    parts.Start(form, x);
    ASSERT_TRUE(parts.Convert(512, 768));
    ASSERT_TRUE(parts.Convert(0, 512));
    const auto bytes = [&x](const void* data, size_t size_of_one, int values_of_one) {
      return std::string(static_cast<const char*>(data), x.size() / values_of_one * size_of_one);
    };
    EXPECT_EQ(bytes(whole.view().q, 1, 1), bytes(parts.view().q, 1, 1));
    EXPECT_EQ(bytes(whole.view().scales, sizeof(float), BlockSizeOf(form)),
              bytes(parts.view().scales, sizeof(float), BlockSizeOf(form)));
    EXPECT_EQ(bytes(whole.view().sums, sizeof(int16_t), SumSizeOf(form)),
              bytes(parts.view().sums, sizeof(int16_t), SumSizeOf(form)));
  }
}

TEST(ActivationTest, AlignsItsArraysAndBorrowsF32) {
  ActivationBuffer buffer;
  const std::vector<float> x = RandomValues(32 * 7, 1);
  ASSERT_TRUE(buffer.Assign(ActivationForm::kA32, x));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.view().q) % 64, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.view().scales) % 64, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.view().sums) % 64, 0);
  ASSERT_TRUE(buffer.Assign(ActivationForm::kF32, x));
  EXPECT_EQ(buffer.view().values, x.data());
}

}  // namespace
}  // namespace strata
