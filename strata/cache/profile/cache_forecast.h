// What a cache that holds certain experts can be expected to do for each token, before anything
// runs: from a profile, or from nothing but the model's shape.
#ifndef STRATA_CACHE_PROFILE_CACHE_FORECAST_H_
#define STRATA_CACHE_PROFILE_CACHE_FORECAST_H_

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/profile/expert_profile.h"

namespace strata {

// Means over many tokens, each computed alone.
struct CacheForecast {
  double hit_rate = 0;    // Share of the routed entries that a slot serves.
  double hit_bytes = 0;   // Of a token's experts that are read from slots,
  double miss_bytes = 0;  // and from elsewhere.
};

// `residents` are expert numbers, none twice. Over the texts of the profile: others do worse. A
// profile that counted nothing says as much as none.
CacheForecast ForecastOf(const ExpertProfile& profile, absl::Span<const int> residents);
// As if the experts of a layer were used alike.
CacheForecast ForecastOf(const ExpertGeometry& geometry, absl::Span<const int> residents);

}  // namespace strata

#endif  // STRATA_CACHE_PROFILE_CACHE_FORECAST_H_
