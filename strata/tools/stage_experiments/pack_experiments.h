// Fills from a pack's experts.bin, where an expert is one run of bytes, beside fills from the
// model's slices: with files that are in memory, and from the disk.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_PACK_EXPERIMENTS_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_PACK_EXPERIMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

// Nothing without a pack. Arms are interleaved; of a pair the slices come first. With `verify`
// every slot is read back after each run; kDataLoss when one holds a wrong byte.
absl::StatusOr<std::vector<Measurement>> MeasurePack(const Bench& bench, bool verify);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_PACK_EXPERIMENTS_H_
