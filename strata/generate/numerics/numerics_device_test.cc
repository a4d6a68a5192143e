#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/numerics/numerics.h"
#include "strata/generate/numerics/numerics_sample.h"

namespace strata {
namespace {

// Any finite bits of a float whose exponent is within `spread` of that of 1.
float RandomFloat(std::mt19937& random, int spread) {
  const uint32_t exponent = 127 - spread + random() % (2 * spread);
  return f32::FromBits((random() & 0x807fffffu) | exponent << 23);
}

TEST(NumericsDeviceTest, HasTheBitsOfTheHost) {
  std::mt19937 random(1);
  std::vector<NumericsInput> inputs;
  for (int i = 0; i < 2000000; ++i) {
    // Near one, where roundings differ most; and everywhere, with subnormals and overflow.
    const int spread = i % 2 == 0 ? 8 : 127;
    inputs.push_back(
        {RandomFloat(random, spread), RandomFloat(random, spread), RandomFloat(random, spread)});
  }
  std::vector<NumericsSample> samples(inputs.size());
  const absl::Status status = SampleNumericsOnDevice(inputs, absl::MakeSpan(samples));
  if (absl::IsUnavailable(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  int64_t num_compared = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const NumericsSample expected = SampleNumerics(inputs[i]);
    for (int k = 0; k < NumericsSample::kCount; ++k) {
      // NaN has no defined bits.
      const uint32_t magnitude = expected.bits[k] & 0x7fffffffu;
      if (magnitude > f32::kInfinityBits) continue;
      ++num_compared;
      ASSERT_EQ(samples[i].bits[k], expected.bits[k]) << "operation " << k << " of " << inputs[i].a
                                                      << ", " << inputs[i].b << ", " << inputs[i].c;
    }
  }
  EXPECT_GT(num_compared, 27 * 1000 * 1000);
}

}  // namespace
}  // namespace strata
