#include "strata/generate/sampling/sampling_request.h"

#include <cstdint>
#include <set>

#include "gtest/gtest.h"
#include "strata/generate/sampling/sampler.h"

namespace strata {
namespace {

TEST(SamplingRequestTest, WhatIsAskedForReplacesTheDefaults) {
  const SamplerOptions defaults = {.temperature = 0.7f, .top_p = 0.95f, .min_p = 0.05f};
  const SamplerOptions options =
      ResolveSampling({.temperature = 0.0f, .top_k = 3, .seed = 9}, defaults);
  EXPECT_EQ(options.temperature, 0.0f);
  EXPECT_EQ(options.top_k, 3);
  EXPECT_EQ(options.top_p, 0.95f);
  EXPECT_EQ(options.min_p, 0.05f);
  EXPECT_EQ(options.seed, 9u);
}

TEST(SamplingRequestTest, ASeedThatIsNotAskedForIsRandom) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 4; ++i) seeds.insert(ResolveSampling({}, {}).seed);
  EXPECT_GT(seeds.size(), 1u);
}

}  // namespace
}  // namespace strata
