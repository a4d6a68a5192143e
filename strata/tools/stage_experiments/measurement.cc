#include "strata/tools/stage_experiments/measurement.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "glog/logging.h"

namespace strata::stagebench {
namespace {

double Quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

}  // namespace

Distribution Summarize(std::vector<double> sample) {
  CHECK(!sample.empty());
  std::sort(sample.begin(), sample.end());
  return {.median = Quantile(sample, 0.5),
          .low = Quantile(sample, 0.25),
          .high = Quantile(sample, 0.75),
          .num_samples = static_cast<int>(sample.size())};
}

void NoteShareOfLink(double gb_per_s, double link_gb_per_s, Measurement& measurement) {
  if (link_gb_per_s > 0) measurement.notes.push_back({"share_of_link", gb_per_s / link_gb_per_s});
}

}  // namespace strata::stagebench
