// Many copies at once: what the link carries when it never waits for the host.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_QUEUED_COPIES_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_QUEUED_COPIES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

// Queued copies from each pinned source (pinned_sources.h): one by one and in batches, on one
// stream and on two.
absl::StatusOr<std::vector<Measurement>> MeasureQueuedCopies(const Bench& bench);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_QUEUED_COPIES_H_
