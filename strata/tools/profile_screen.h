// A profile for people, and the same facts as JSON.
#ifndef STRATA_TOOLS_PROFILE_SCREEN_H_
#define STRATA_TOOLS_PROFILE_SCREEN_H_

#include <string>

#include "strata/cache/profile/expert_profile.h"
#include "strata/core/cli/json_output.h"

namespace strata {

std::string ProfileScreen(const ExpertProfile& profile);
// tokens, routed, sources, model{...}, coverage[{percent, experts, bytes, share}],
// entropy{bits, max_bits, alike}, layers[{block, blob_bytes, expert_bytes, entropy_bits, unused}],
// hottest[{block, expert, count, share}].
Json ProfileJson(const ExpertProfile& profile);

}  // namespace strata

#endif  // STRATA_TOOLS_PROFILE_SCREEN_H_
