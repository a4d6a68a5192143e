// The link itself, and single copies over it.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_COPY_EXPERIMENTS_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_COPY_EXPERIMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

struct LinkProbe {
  std::vector<Measurement> measurements;
  double gb_per_s = 0;  // Host to device, what all shares refer to; 0 when nothing could be pinned.
};

// Large copies in both directions.
absl::StatusOr<LinkProbe> ProbeLink(const Bench& bench);

// One blob at a time from a ring of buffers, pageable and pinned, as it lies and after a fresh
// fill: host time inside the copy's call, and from the call to the end of the copy's event. The
// fill is outside both.
absl::StatusOr<std::vector<Measurement>> MeasureSingleCopies(const Bench& bench);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_COPY_EXPERIMENTS_H_
