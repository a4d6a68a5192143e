#include "strata/generate/sampling/counter_random.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(CounterRandomTest, DependsOnSeedAndPositionAlone) {
  const double value = UniformAt(7, 100);
  UniformAt(8, 3);
  EXPECT_EQ(UniformAt(7, 100), value);
  EXPECT_NE(UniformAt(8, 100), value);
  EXPECT_NE(UniformAt(7, 101), value);
}

TEST(CounterRandomTest, IsUniformOverPositionsAndOverSeeds) {
  constexpr int kDraws = 100000;
  constexpr int kBins = 20;
  for (const bool by_seed : {false, true}) {
    std::vector<int> bins(kBins);
    for (int i = 0; i < kDraws; ++i) {
      const double u = by_seed ? UniformAt(i, 5) : UniformAt(5, i);
      ASSERT_GE(u, 0.0);
      ASSERT_LT(u, 1.0);
      ++bins[static_cast<int>(u * kBins)];
    }
    double chi_squared = 0;
    for (const int count : bins) {
      chi_squared += std::pow(count - kDraws / kBins, 2) / (kDraws / kBins);
    }
    EXPECT_LT(chi_squared, 43.8) << "19 degrees of freedom: exceeded once in a thousand";
  }
}

TEST(CounterRandomTest, NeighbouringSeedsShareNoSequence) {
  std::set<double> values;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (int64_t position = 0; position < 50; ++position) values.insert(UniformAt(seed, position));
  }
  EXPECT_EQ(values.size(), 2500);
}

}  // namespace
}  // namespace strata
