#include "strata/generate/kernels/cuda/norm_rows.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/vector_math.h"

namespace strata {
namespace {

constexpr float kEpsilon = 1e-6f;

class NormRowsTest : public KernelTest {
 protected:
  struct Case {
    int num_rows;
    int64_t size;
    bool has_weight = true;
    bool has_part = false;
    bool has_norm_after = false;
    float scale = 1.0f;
  };

  void Check(const Case& c) {
    SCOPED_TRACE(testing::Message() << c.num_rows << " rows of " << c.size);
    std::vector<float> state = RandomValues(c.num_rows * c.size);
    std::vector<float> part = RandomValues(c.num_rows * c.size, 0.3f);
    const std::vector<float> weight = RandomValues(c.size);
    const std::vector<float> norm_after = RandomValues(c.size);
    const DeviceArray<float> x(state), parts(part), weights(weight), norms(norm_after);
    const ActivationArrays out(c.num_rows, c.size);
    NormTask task = {.num_rows = c.num_rows,
                     .x = x.data(),
                     .weight = c.has_weight ? weights.data() : nullptr,
                     .epsilon = kEpsilon,
                     .out = out.forms(),
                     .fault = fault()};
    if (c.has_part) {
      task.residual = {.part = parts.data(),
                       .norm_after = c.has_norm_after ? norms.data() : nullptr,
                       .scale = c.scale,
                       .sum = x.data()};
    }
    ASSERT_TRUE(NormRows(task, stream_).ok());
    FinishKernels();

    std::vector<float> expected(state.size());
    for (int row = 0; row < c.num_rows; ++row) {
      const auto of_row = [&](std::vector<float>& values) {
        return absl::MakeSpan(values).subspan(row * c.size, c.size);
      };
      if (c.has_norm_after) RmsNorm(of_row(part), norm_after, kEpsilon, of_row(part));
      if (c.has_part) AddProduct(c.scale, of_row(part), of_row(state));
      RmsNorm(of_row(state), c.has_weight ? weight : std::vector<float>(), kEpsilon,
              of_row(expected));
    }
    out.Expect(expected);
    EXPECT_EQ(x.Read(), state);
    EXPECT_EQ(ReadFault(), kNoFault);
  }
};

TEST_F(NormRowsTest, HasTheBitsOfTheCpu) {
  for (const int64_t size : {8, 64, 96, 640, 2048, 2880, 4096}) {
    Check({.num_rows = 1, .size = size});
    Check({.num_rows = 3, .size = size, .has_weight = false});
  }
  Check({.num_rows = 16, .size = 2048});
  Check({.num_rows = 2, .size = 16384});
}

TEST_F(NormRowsTest, AddsThePartBefore) {
  for (const int64_t size : {64, 640, 2048}) {
    Check({.num_rows = 2, .size = size, .has_part = true});
    Check({.num_rows = 1, .size = size, .has_part = true, .scale = 0.22f});
    Check({.num_rows = 2, .size = size, .has_part = true, .has_norm_after = true, .scale = 0.5f});
  }
}

TEST_F(NormRowsTest, GathersTheRowsThatAreWanted) {
  constexpr int64_t kSize = 256;
  const std::vector<float> state = RandomValues(4 * kSize);
  const DeviceArray<float> x(state);
  DeviceStep step;
  step.num_wanted = 2;
  step.wanted[0] = 1;
  step.wanted[1] = 3;
  const DeviceArray<DeviceStep> device_step(std::vector<DeviceStep>{step});
  const ActivationArrays out(3, kSize);
  const NormTask task = {.num_rows = 3,
                         .x = x.data(),
                         .epsilon = kEpsilon,
                         .out = out.forms(),
                         .gather = device_step.data(),
                         .fault = fault()};
  ASSERT_TRUE(NormRows(task, stream_).ok());
  FinishKernels();
  std::vector<float> expected(3 * kSize, 0.0f);
  for (int i = 0; i < 2; ++i) {
    RmsNorm(absl::MakeConstSpan(state).subspan(step.wanted[i] * kSize, kSize), {}, kEpsilon,
            absl::MakeSpan(expected).subspan(i * kSize, kSize));
  }
  out.Expect(expected);
}

TEST_F(NormRowsTest, ReportsTheLowestRowThatIsNotFinite) {
  constexpr int64_t kSize = 512;
  for (const float bad : {NAN, INFINITY}) {
    std::vector<float> state = RandomValues(3 * kSize);
    state[2 * kSize + 5] = bad;
    state[1 * kSize + 300] = bad;
    const DeviceArray<float> x(state);
    const ActivationArrays out(3, kSize);
    ASSERT_TRUE(NormRows({.num_rows = 3,
                          .x = x.data(),
                          .epsilon = kEpsilon,
                          .out = out.forms(),
                          .fault = fault()},
                         stream_)
                    .ok());
    FinishKernels();
    EXPECT_EQ(ReadFault(), EncodeFault(kOperation, 1));
  }
}

}  // namespace
}  // namespace strata
