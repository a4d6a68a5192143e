#include "strata/generate/cuda/miss_chooser.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace strata {
namespace {

using Way = MissChooser::Way;

// What so many steps take in all.
struct Spent {
  double ms = 0;
  int num_cpu = 0;
};

Spent RunSteps(MissChooser& chooser, int steps, double read_ms, double cpu_ms, double noise,
               std::mt19937& random) {
  std::uniform_real_distribution<double> factor(1 - noise, 1 + noise);
  Spent run;
  for (int i = 0; i < steps; ++i) {
    const bool is_cpu = chooser.Next() == Way::kCpu;
    const double ms = (is_cpu ? cpu_ms : read_ms) * factor(random);
    chooser.AddStep(ms);
    run.ms += ms;
    run.num_cpu += is_cpu;
  }
  return run;
}

TEST(MissChooserTest, After64StepsItLosesLessThanFivePercentToTheBetterWay) {
  std::mt19937 random(1);
  for (const double noise : {0.0, 0.1, 0.3}) {
    for (const double ratio : {0.1, 0.5, 0.8, 1.0, 1.3, 2.0, 5.0, 20.0}) {
      MissChooser chooser;
      RunSteps(chooser, 64, 10, 10 * ratio, noise, random);
      const int steps = 5000;
      const Spent run = RunSteps(chooser, steps, 10, 10 * ratio, noise, random);
      EXPECT_LE(run.ms, 1.05 * steps * 10 * std::min(1.0, ratio)) << ratio << ", " << noise;
    }
  }
}

TEST(MissChooserTest, FollowsAChange) {
  std::mt19937 random(2);
  MissChooser chooser;
  RunSteps(chooser, 300, 10, 13, 0.1, random);
  RunSteps(chooser, 600, 10, 5, 0.1, random);
  const Spent after = RunSteps(chooser, 1000, 10, 5, 0.1, random);
  EXPECT_GE(after.num_cpu, 950);
  RunSteps(chooser, 1100, 3, 5, 0.1, random);
  EXPECT_LE(RunSteps(chooser, 1000, 3, 5, 0.1, random).num_cpu, 50);
}

TEST(MissChooserTest, TrialsBecomeRarerWhileNothingChanges) {
  std::mt19937 random(3);
  MissChooser chooser;
  std::vector<int> tried;  // Steps of the slower way, by thousand steps.
  for (int i = 0; i < 5; ++i) {
    const int num_cpu = RunSteps(chooser, 2048, 10, 10.5, 0, random).num_cpu;
    tried.push_back(num_cpu);
  }
  EXPECT_GE(tried.front(), 4 * 5);
  EXPECT_LE(tried.back(), 2 * 5);
}

TEST(MissChooserTest, ATrialThatIsClearEndsAtOnce) {
  std::mt19937 random(4);
  MissChooser chooser;
  EXPECT_EQ(RunSteps(chooser, 10, 10, 50, 0, random).num_cpu, 5) << "both are tried in full";
  // Twice a step that does not count, and one that does.
  EXPECT_EQ(RunSteps(chooser, 3000, 10, 50, 0, random).num_cpu, 2 * 2);
}

TEST(MissChooserTest, TheFirstStepOfAWayIsNotCounted) {
  MissChooser chooser;
  chooser.AddStep(10000);  // Its graph was recorded.
  for (int i = 0; i < 4; ++i) chooser.AddStep(10);
  ASSERT_EQ(chooser.Next(), Way::kCpu);
  chooser.AddStep(1);
  for (int i = 0; i < 4; ++i) chooser.AddStep(11);
  EXPECT_EQ(chooser.Next(), Way::kRead);
}

}  // namespace
}  // namespace strata
