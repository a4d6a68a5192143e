#include "strata/cache/simulate/speed_forecast.h"

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/core/error.h"

namespace strata {
namespace {

TEST(SpeedForecastTest, TakesTheSlowerOfLinkAndMemory) {
  const MachineRates rates = {.link = 10, .device_memory = 100};
  const ReplayCounts counts = {
      .steps = 10, .tokens = 10, .slot_bytes = 1000, .link_bytes = 200, .copy_bytes = 100};
  // 30 ns over the link, 10 from memory, for ten tokens.
  EXPECT_DOUBLE_EQ(ForecastSpeed(rates, counts).tokens_per_s, 1e9 * 10 / 30);
  EXPECT_EQ(ForecastSpeed(rates, counts).bound, "link");
  EXPECT_EQ(ForecastSpeed({.link = 1000, .device_memory = 100}, counts).bound, "memory");
  EXPECT_EQ(ForecastSpeed({.link = 10, .device_memory = 100, .fixed_ns = 40}, counts).bound,
            "fixed");
  EXPECT_EQ(ForecastSpeed(rates, {}).tokens_per_s, 0);
}

TEST(SpeedForecastTest, ReadsTheLinkFromStagebench) {
  const absl::StatusOr<MachineRates> rates = MachineRates::FromStagebench(
      R"({"device": "a card", "measurements": [
          {"experiment": "link", "figures": {"gb_per_s": {"median": 55}}},
          {"experiment": "kernel reads", "figures": {"gb_per_s": {"median": 36}}},
          {"experiment": "kernel reads", "figures": {"gb_per_s": {"median": 50}}},
          {"experiment": "pinning", "figures": {"ms_per_mib": {"median": 3}}}]})",
      {.device_memory = 7});
  ASSERT_TRUE(rates.ok()) << rates.status();
  EXPECT_EQ(rates->link, 50);
  EXPECT_EQ(rates->device_memory, 7);
  EXPECT_EQ(rates->name, "a card");
}

TEST(SpeedForecastTest, RefusesWhatIsNoMeasurement) {
  for (const char* const text : {"", "[]", "{}", "{\"measurements\": 3}", "{", "null"}) {
    EXPECT_EQ(ErrorKind(MachineRates::FromStagebench(text, {}).status()), "bad_machine") << text;
  }
  EXPECT_TRUE(MachineRates::FromStagebench(
                  R"({"measurements": [1, {}, {"experiment": "link", "figures": 2},
                      {"experiment": "link", "figures": {"gb_per_s": {"median": "x"}}}]})",
                  {})
                  .ok());
}

}  // namespace
}  // namespace strata
