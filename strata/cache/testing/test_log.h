// Routing logs of models that do not exist, for tests of replays.
#ifndef STRATA_CACHE_TESTING_TEST_LOG_H_
#define STRATA_CACHE_TESTING_TEST_LOG_H_

#include <random>
#include <vector>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {

// Layers of these blob sizes.
ExpertGeometry TestGeometry(const std::vector<int>& blob_bytes, int num_experts, int num_used);

// Of a single layer of which a token uses one expert: the one at each step.
RoutingLog LogOf(const ExpertGeometry& geometry, const std::vector<int>& experts);

// Steps of one token, or of up to `most_tokens`, in which some experts are likelier than others and
// the likely ones change now and then.
RoutingLog RandomLog(const ExpertGeometry& geometry, int num_steps, int most_tokens,
                     std::mt19937& random);

}  // namespace strata

#endif  // STRATA_CACHE_TESTING_TEST_LOG_H_
