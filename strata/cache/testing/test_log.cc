#include "strata/cache/testing/test_log.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {

ExpertGeometry TestGeometry(const std::vector<int>& blob_bytes, int num_experts, int num_used) {
  std::vector<ExpertGeometry::Layer> layers;
  for (const int bytes : blob_bytes) {
    layers.push_back(
        {.block = static_cast<int>(layers.size()), .blob_bytes = bytes, .expert_bytes = bytes - 1});
  }
  return ExpertGeometry(layers, num_experts, num_used);
}

RoutingLog LogOf(const ExpertGeometry& geometry, const std::vector<int>& experts) {
  RoutingLog log(geometry);
  for (const int expert : experts) {
    log.Add({.num_tokens = 1, .num_accepted = 1, .experts = {static_cast<uint16_t>(expert)}});
  }
  return log;
}

RoutingLog RandomLog(const ExpertGeometry& geometry, int num_steps, int most_tokens,
                     std::mt19937& random) {
  RoutingLog log(geometry);
  int shift = 0;
  for (int number = 0; number < num_steps; ++number) {
    if (random() % 20 == 0) shift = static_cast<int>(random() % geometry.num_experts());
    RoutedStep step = {.number = number};
    step.num_tokens = 1 + static_cast<int>(random() % most_tokens);
    step.num_accepted = 1 + static_cast<int>(random() % step.num_tokens);
    const int rows = static_cast<int>(geometry.layers().size()) * step.num_tokens;
    for (int row = 0; row < rows; ++row) {
      std::vector<uint16_t> chosen;
      while (static_cast<int>(chosen.size()) < geometry.num_used()) {
        // The smaller of two draws: the first experts after `shift` are the likely ones.
        const auto draw =
            std::min(random() % geometry.num_experts(), random() % geometry.num_experts());
        const auto index = static_cast<uint16_t>((draw + shift) % geometry.num_experts());
        if (std::count(chosen.begin(), chosen.end(), index) == 0) chosen.push_back(index);
      }
      step.experts.insert(step.experts.end(), chosen.begin(), chosen.end());
    }
    log.Add(step);
  }
  return log;
}

}  // namespace strata
