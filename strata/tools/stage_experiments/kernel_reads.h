// A kernel that reads experts where they lie in host memory, as decoding does with a miss.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_KERNEL_READS_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_KERNEL_READS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

// From each pinned source (pinned_sources.h): the three slices of one blob, and all slices at once.
// What the kernel saw is compared with what the host sees. A device that runs no kernels gets one
// arm that says so.
absl::StatusOr<std::vector<Measurement>> MeasureKernelReads(const Bench& bench);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_KERNEL_READS_H_
