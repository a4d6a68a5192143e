#include "strata/cache/testing/test_profile.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/profile/expert_profile.h"

namespace strata {

ModelIdentity TestIdentity(int num_layers, int num_experts, int num_used, uint64_t content) {
  std::vector<ExpertGeometry::Layer> layers;
  for (int block = 1; block <= num_layers; ++block) {
    const int64_t bytes = block % 2 == 1 ? 1000 : 1500;
    layers.push_back({.block = block, .blob_bytes = bytes + 24, .expert_bytes = bytes});
  }
  return {.geometry = ExpertGeometry(std::move(layers), num_experts, num_used),
          .routers = {.low = content, .high = 2},
          .experts = {.low = 3, .high = 4}};
}

ExpertProfile TestProfile(const std::vector<std::vector<uint64_t>>& counts, uint64_t num_tokens,
                          const std::set<std::string>& sources) {
  std::vector<uint64_t> all;
  for (const std::vector<uint64_t>& layer : counts) {
    CHECK_EQ(layer.size(), counts[0].size());
    all.insert(all.end(), layer.begin(), layer.end());
  }
  absl::StatusOr<ExpertProfile> profile = ExpertProfile::Create(
      TestIdentity(static_cast<int>(counts.size()), static_cast<int>(counts[0].size()),
                   /*num_used=*/1),
      std::move(all), num_tokens, sources);
  CHECK(profile.ok()) << profile.status();
  return *std::move(profile);
}

}  // namespace strata
