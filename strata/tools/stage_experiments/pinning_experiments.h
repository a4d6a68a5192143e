// What it costs to pin host memory, by the ways of doing it.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_PINNING_EXPERIMENTS_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_PINNING_EXPERIMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

// The same bytes as one driver call per buffer, as one driver slab, as a registered slab of huge
// pages and of 4 KiB pages, and as the model's mapping registered in place: milliseconds a MiB.
absl::StatusOr<std::vector<Measurement>> MeasurePinning(const Bench& bench);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_PINNING_EXPERIMENTS_H_
