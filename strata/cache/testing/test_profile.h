// Profiles and identities of models that do not exist, for tests.
#ifndef STRATA_CACHE_TESTING_TEST_PROFILE_H_
#define STRATA_CACHE_TESTING_TEST_PROFILE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "strata/cache/experts/model_identity.h"
#include "strata/cache/profile/expert_profile.h"

namespace strata {

// Layers are blocks 1, 2, ...; those of even blocks have larger experts. Models of other `content`
// have other routers.
ModelIdentity TestIdentity(int num_layers, int num_experts, int num_used, uint64_t content = 1);

// With these counts, one list a layer; dies when there can be no such profile.
ExpertProfile TestProfile(const std::vector<std::vector<uint64_t>>& counts, uint64_t num_tokens = 0,
                          const std::set<std::string>& sources = {});

}  // namespace strata

#endif  // STRATA_CACHE_TESTING_TEST_PROFILE_H_
