#include "strata/cache/profile/profile_figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/profile/expert_profile.h"

namespace strata {
namespace {

double Entropy(absl::Span<const uint64_t> counts) {
  double total = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  double bits = 0;
  for (const uint64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    bits -= share * std::log2(share);
  }
  return bits;
}

}  // namespace

CoverageCurve::CoverageCurve(const ExpertProfile& profile) : points_(1) {
  points_.reserve(profile.counts().size() + 1);
  for (const int number : profile.Rank()) {
    Point point = points_.back();
    point.blob_bytes += profile.geometry().BlobBytes(number);
    point.num_entries += profile.counts()[number];
    points_.push_back(point);
  }
}

double CoverageCurve::Share(int num_experts) const {
  if (points_.back().num_entries == 0) return 0;
  return static_cast<double>(points_[num_experts].num_entries) /
         static_cast<double>(points_.back().num_entries);
}

int CoverageCurve::NumExpertsWithin(int64_t bytes) const {
  const auto past =
      std::upper_bound(points_.begin() + 1, points_.end(), bytes,
                       [](int64_t most, const Point& point) { return most < point.blob_bytes; });
  return static_cast<int>(past - points_.begin()) - 1;
}

std::vector<double> LayerEntropies(const ExpertProfile& profile) {
  const auto num_experts = static_cast<size_t>(profile.geometry().num_experts());
  std::vector<double> entropies;
  for (size_t begin = 0; begin < profile.counts().size(); begin += num_experts) {
    entropies.push_back(Entropy(absl::MakeConstSpan(profile.counts()).subspan(begin, num_experts)));
  }
  return entropies;
}

double TotalEntropy(const ExpertProfile& profile) { return Entropy(profile.counts()); }

}  // namespace strata
