// The flags of mains that run a model, about where its experts are.
#ifndef STRATA_GENERATE_COMMANDS_EXPERT_FLAGS_H_
#define STRATA_GENERATE_COMMANDS_EXPERT_FLAGS_H_

#include "absl/status/statusor.h"
#include "strata/core/cli/flag_help.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {

// What the command line said. An error is the command line's.
absl::StatusOr<ExpertPlacement::Options> ExpertOptionsFromFlags();

// For the help of such a main.
FlagGroup ExpertFlagGroup();

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_EXPERT_FLAGS_H_
