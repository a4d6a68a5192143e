// The body of expert_tier_gpu_test on HostDevice.
#include "strata/cache/tier/testing/tier_soak.h"

#include "gtest/gtest.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/core/host_device.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Host = TierParts::Host;

class TierSoakTest : public ::testing::TestWithParam<Host> {
 protected:
  HostDevice device_{{.max_delay_yields = 2, .shuffle_batches = true, .seed = TestSeed()}};
};

TEST_P(TierSoakTest, ReadsNoWrongByteOfSmallExpertsThatSwapAllTheTime) {
  SoakTier(device_,
           {.experts = {.num_layers = 4, .num_experts = 32, .slice_bytes = {10240, 10240, 15360}},
            .host = GetParam(),
            .num_slots = 48,
            .fills_while_run = true,
            .num_steps = TestSteps(600)});
}

TEST_P(TierSoakTest, ReadsNoWrongByteOfLargeExperts) {
  SoakTier(
      device_,
      {.experts = {.num_layers = 2, .num_experts = 12, .slice_bytes = {442368, 442368, 645120}},
       .host = GetParam(),
       .num_slots = 8,
       .num_steps = TestSteps(60)});
}

// So little is copied that loans, rounds and refills meet in every order.
TEST_P(TierSoakTest, ReadsNoWrongByteOfTinyExpertsThatAreLentAllTheTime) {
  SoakTier(device_,
           {.experts = {.num_layers = 3, .num_experts = 16, .slice_bytes = {256, 256, 512}},
            .host = GetParam(),
            .num_slots = 20,
            .num_used = 3,
            .steps_per_loan = 4,
            .num_steps = TestSteps(200)});
}

INSTANTIATE_TEST_SUITE_P(Hosts, TierSoakTest,
                         ::testing::Values(Host::kRegistered, Host::kArena, Host::kPageable),
                         NameOfHost);

TEST(TierSoakControlTest, FindsAWrongSlotAndAWrongEntry) {
  HostDevice device;
  ExpectSoakFindsWhatIsWrong(device);
}

}  // namespace
}  // namespace strata
