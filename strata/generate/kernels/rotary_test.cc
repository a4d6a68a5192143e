#include "strata/generate/kernels/rotary.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace strata {
namespace {

double AngleAt(const RotaryTable& table, int64_t position, int pair) {
  return std::atan2(table.Sines(position)[pair], table.Cosines(position)[pair]);
}

TEST(RotaryTest, SlowsTheTurningFromPairToPair) {
  RotaryTable table({.num_dims = 8, .base = 10000.0});
  table.ExtendTo(4);
  EXPECT_EQ(table.num_positions(), 4);
  for (int pair = 0; pair < 4; ++pair) {
    EXPECT_EQ(table.Cosines(0)[pair], 1.0f);
    EXPECT_EQ(table.Sines(0)[pair], 0.0f);
    EXPECT_NEAR(AngleAt(table, 3, pair), 3.0 * std::pow(10.0, -pair), 1e-7);
  }
}

TEST(RotaryTest, RoundsTheTrueValueAtFarPositions) {
  RotaryTable table({.num_dims = 2});
  table.ExtendTo(131072);
  EXPECT_EQ(table.Cosines(131071)[0], static_cast<float>(std::cos(131071.0)));
  EXPECT_EQ(table.Sines(131071)[0], static_cast<float>(std::sin(131071.0)));
}

TEST(RotaryTest, KeepsItsValuesWhenItGrows) {
  RotaryTable table({.num_dims = 4});
  table.ExtendTo(3);
  const float before = table.Sines(2)[1];
  table.ExtendTo(1000);
  table.ExtendTo(5);
  EXPECT_EQ(table.num_positions(), 1000);
  EXPECT_EQ(table.Sines(2)[1], before);
}

TEST(RotaryTest, ScalesAnglesLinearlyAndByFactors) {
  RotaryTable table(
      {.num_dims = 4, .base = 100.0, .frequency_scale = 0.25, .frequency_factors = {1.0f, 2.0f}});
  table.ExtendTo(9);
  EXPECT_NEAR(AngleAt(table, 8, 0), 2.0, 1e-7);
  EXPECT_NEAR(AngleAt(table, 8, 1), 8 * 0.1 * 0.25 / 2.0, 1e-7);
}

// gpt-oss: 64 values, base 150000, a context of 4096 stretched 32 times.
TEST(RotaryTest, MixesAnglesAlongTheRampOfYarn) {
  RotaryTable table({.num_dims = 64,
                     .base = 150000.0,
                     .frequency_scale = 1.0 / 32,
                     .yarn = YarnRamp{.original_context = 4096}});
  table.ExtendTo(2);
  // Pair p turns 4096 / 2 pi * 150000^(-p/32) times: 32 times near 8.09, once near 17.4.
  const double first = 8.0;
  const double last = 18.0;
  for (int pair = 0; pair < 32; ++pair) {
    double scaled = (pair - first) / (last - first);
    scaled = scaled < 0.0 ? 0.0 : scaled > 1.0 ? 1.0 : scaled;
    const double unscaled_angle = std::pow(150000.0, -pair / 32.0);
    const double expected = unscaled_angle * (1.0 - scaled) + unscaled_angle / 32 * scaled;
    EXPECT_NEAR(AngleAt(table, 1, pair), expected, 1e-6 * expected) << pair;
  }
}

TEST(RotaryTest, ScalesCosinesAndSinesByTheMagnitude) {
  EXPECT_NEAR(YarnMagnitude(32.0), 1.34657359, 1e-8);
  EXPECT_NEAR(YarnMagnitude(40.0, 0.707), 1.0 + 0.0707 * std::log(40.0), 1e-12);
  EXPECT_EQ(YarnMagnitude(1.0), 1.0);
  EXPECT_EQ(YarnMagnitude(0.5), 1.0);
  RotaryTable table({.num_dims = 2, .magnitude = 1.5});
  table.ExtendTo(2);
  EXPECT_FLOAT_EQ(table.Cosines(1)[0], 1.5 * std::cos(1.0));
  EXPECT_FLOAT_EQ(table.Sines(1)[0], 1.5 * std::sin(1.0));
}

TEST(RotaryTest, TurnsNeighboursOrHalvesAndLeavesTheRest) {
  const std::vector<float> cosines = {0.0f, -1.0f};  // A quarter turn, a half turn.
  const std::vector<float> sines = {1.0f, 0.0f};
  std::vector<float> norm = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  Rotate(RotaryPairing::kNorm, cosines, sines, norm.data());
  EXPECT_EQ(norm, (std::vector<float>{-2.0f, 1.0f, -3.0f, -4.0f, 5.0f}));
  std::vector<float> neox = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  Rotate(RotaryPairing::kNeox, cosines, sines, neox.data());
  EXPECT_EQ(neox, (std::vector<float>{-3.0f, -2.0f, 1.0f, -4.0f, 5.0f}));
}

}  // namespace
}  // namespace strata
