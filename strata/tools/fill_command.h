// `pack_verify --fill`: slots of a cache, filled as an engine fills them and read back. Its flags
// are defined here.
#ifndef STRATA_TOOLS_FILL_COMMAND_H_
#define STRATA_TOOLS_FILL_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/slot_reference.h"
#include "strata/core/cli/json_output.h"

namespace strata {

// A flag that is given and goes with --fill alone; empty when there is none.
std::string FlagOfFillGiven();
// A UsageError for values that cannot be.
absl::Status CheckFillFlags();

struct FillTask {
  const ModelIdentity& identity;
  const ExpertFiles& files;  // To fill slots from.
  const ExpertFiles& model;  // In the model's own files.
  const SlotReference& reference;
};

struct FillResult {
  int64_t num_mismatches = 0;
  Json json;
};

// Prints text as it goes on, unless `quiet`. An error is a file's, the machine's or the device's.
absl::StatusOr<FillResult> RunFill(const FillTask& task, bool quiet);

}  // namespace strata

#endif  // STRATA_TOOLS_FILL_COMMAND_H_
