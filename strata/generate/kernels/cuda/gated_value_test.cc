#include "strata/generate/kernels/cuda/gated_value.h"

#include <cstring>
#include <random>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/model/gated_activation.h"

namespace strata {
namespace {

TEST(GatedValueTest, HasTheBitsOfApplyGate) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 6.0f);
  for (const GatedActivation activation :
       {GatedActivation::kSilu, GatedActivation::kClampedSwiglu}) {
    for (int i = 0; i < 10000; ++i) {
      const float gate = normal(random);
      const float up = normal(random);
      float expected;
      ApplyGate(activation, absl::MakeConstSpan(&gate, 1), absl::MakeConstSpan(&up, 1),
                absl::MakeSpan(&expected, 1));
      const float value = GatedValue(activation, gate, up);
      ASSERT_EQ(std::memcmp(&value, &expected, sizeof(float)), 0) << gate << ", " << up;
    }
  }
}

}  // namespace
}  // namespace strata
