#include "strata/generate/cuda/gpu_memory_use.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(GpuMemoryUseTest, AddsUpHoweverItIsRounded) {
  constexpr int64_t kHalf = 1 << 19;
  const GpuMemoryUse use = {.weights = 3 * kHalf,
                            .kv = 5 * kHalf,
                            .workspace = 7 * kHalf,
                            .slots = 200 * kHalf,
                            .free = 21 * kHalf,
                            .total = 300 * kHalf};
  EXPECT_EQ(
      use.Describe(),
      "GPU memory in MiB: 2 weights + 3 keys and values + 4 workspace + 100 slots for experts "
      "+ 30 others + 11 free = 150");
}

}  // namespace
}  // namespace strata
