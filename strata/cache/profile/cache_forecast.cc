#include "strata/cache/profile/cache_forecast.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/profile/expert_profile.h"

namespace strata {
namespace {

double EntriesOfToken(const ExpertGeometry& geometry) {
  return static_cast<double>(geometry.layers().size()) * geometry.num_used();
}

// `uses`: how often a token uses each expert.
CacheForecast Forecast(const ExpertGeometry& geometry, const std::vector<double>& uses,
                       absl::Span<const int> residents) {
  std::vector<bool> is_resident(uses.size(), false);
  for (const int number : residents) is_resident[number] = true;
  CacheForecast forecast;
  double hits = 0;
  for (size_t number = 0; number < uses.size(); ++number) {
    const auto bytes = static_cast<double>(geometry.LayerOf(static_cast<int>(number)).expert_bytes);
    (is_resident[number] ? forecast.hit_bytes : forecast.miss_bytes) += uses[number] * bytes;
    if (is_resident[number]) hits += uses[number];
  }
  forecast.hit_rate = hits / EntriesOfToken(geometry);
  return forecast;
}

}  // namespace

CacheForecast ForecastOf(const ExpertProfile& profile, absl::Span<const int> residents) {
  const ExpertGeometry& geometry = profile.geometry();
  if (profile.num_entries() == 0) return ForecastOf(geometry, residents);
  std::vector<double> uses;
  for (const uint64_t count : profile.counts()) {
    uses.push_back(static_cast<double>(count) / static_cast<double>(profile.num_entries()) *
                   EntriesOfToken(geometry));
  }
  return Forecast(geometry, uses, residents);
}

CacheForecast ForecastOf(const ExpertGeometry& geometry, absl::Span<const int> residents) {
  const double use = static_cast<double>(geometry.num_used()) / geometry.num_experts();
  return Forecast(geometry, std::vector<double>(geometry.size(), use), residents);
}

}  // namespace strata
