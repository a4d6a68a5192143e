// The jobs of an engine on its expert cache, each done three ways: as engines did before (the
// reference), through pinned stages, and as Strata does by default.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_JOB_EXPERIMENTS_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_JOB_EXPERIMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

struct JobOptions {
  bool verify = false;  // Reads every slot of a job back and compares it with the file.
};

// Filling the cache, refilling lent slots, rounds of swaps, and one blob into one slot. Arms are
// interleaved. kDataLoss when a slot holds a wrong byte.
absl::StatusOr<std::vector<Measurement>> MeasureJobs(const Bench& bench, const JobOptions& options);

// Filling slots through pinned stages with 1, 2, 4 ... readers, who take the bytes of the page
// cache from the mapping or by read requests.
absl::StatusOr<std::vector<Measurement>> MeasureReaders(const Bench& bench);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_JOB_EXPERIMENTS_H_
