#include "strata/tools/stage_experiments/measurement.h"

#include <utility>
#include <vector>

#include "glog/logging.h"
#include "strata/core/cli/quartiles.h"

namespace strata::stagebench {

Distribution Summarize(std::vector<double> sample) {
  CHECK(!sample.empty());
  const int num_samples = static_cast<int>(sample.size());
  const Quartiles quartiles = Quartiles::Of(std::move(sample));
  return {.median = quartiles.median,
          .low = quartiles.first,
          .high = quartiles.third,
          .num_samples = num_samples};
}

void NoteShareOfLink(double gb_per_s, double link_gb_per_s, Measurement& measurement) {
  if (link_gb_per_s > 0) measurement.notes.push_back({"share_of_link", gb_per_s / link_gb_per_s});
}

}  // namespace strata::stagebench
