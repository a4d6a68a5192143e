// The tier on a real card: experts swap, fill and are lent while asynchronous copies read them, and
// no byte and no entry of the table's image may ever be wrong.
//
// STRATA_TEST_STEPS sets the steps of each test.
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/cache/tier/testing/tier_soak.h"
#include "strata/core/cuda_device.h"
#include "strata/core/device.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Host = TierParts::Host;

class ExpertTierGpuTest : public ::testing::TestWithParam<Host> {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Device>> device = CreateCudaDevice();
    if (!device.ok()) {
      ASSERT_TRUE(absl::IsUnavailable(device.status())) << device.status();
      GTEST_SKIP() << device.status().message();
    }
    device_ = *std::move(device);
  }

  std::unique_ptr<Device> device_;
};

TEST_P(ExpertTierGpuTest, ReadsNoWrongByteOfSmallExpertsThatSwapAllTheTime) {
  SoakTier(*device_,
           {.experts = {.num_layers = 4, .num_experts = 64, .slice_bytes = {10240, 10240, 15360}},
            .host = GetParam(),
            .num_slots = 96,
            .fills_while_run = true,
            .num_steps = TestSteps(4000)});
}

TEST_P(ExpertTierGpuTest, ReadsNoWrongByteOfLargeExperts) {
  SoakTier(
      *device_,
      {.experts = {.num_layers = 4, .num_experts = 48, .slice_bytes = {442368, 442368, 645120}},
       .host = GetParam(),
       .num_slots = 64,
       .num_steps = TestSteps(250)});
}

INSTANTIATE_TEST_SUITE_P(Hosts, ExpertTierGpuTest,
                         ::testing::Values(Host::kRegistered, Host::kArena, Host::kPageable),
                         NameOfHost);

class ExpertTierGpuControlTest : public ExpertTierGpuTest {};

TEST_P(ExpertTierGpuControlTest, FindsAWrongSlotAndAWrongEntry) {
  ExpectSoakFindsWhatIsWrong(*device_);
}

INSTANTIATE_TEST_SUITE_P(Hosts, ExpertTierGpuControlTest, ::testing::Values(Host::kArena),
                         NameOfHost);

}  // namespace
}  // namespace strata
