// gguf_inspect --plan: what a model would get on a machine that flags describe.
#ifndef STRATA_TOOLS_PLAN_COMMAND_H_
#define STRATA_TOOLS_PLAN_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "strata/core/cli/flag_help.h"

namespace strata {

// Prints the plan on stdout. Errors: those of the command line, of a file that is no model that can
// be run, and of a profile; the machine's when the model does not fit, whose plan is printed all the
// same.
absl::Status PrintPlan(const std::string& model, bool json);

// Its flags, for help.
FlagGroup PlanFlagGroup();

// Whether a flag was given that only a plan takes; for messages.
std::string FlagOfPlanGiven();

}  // namespace strata

#endif  // STRATA_TOOLS_PLAN_COMMAND_H_
