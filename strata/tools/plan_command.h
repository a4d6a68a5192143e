// gguf_inspect --plan: what a model would get on a machine that flags describe.
#ifndef STRATA_TOOLS_PLAN_COMMAND_H_
#define STRATA_TOOLS_PLAN_COMMAND_H_

#include <string>

#include "absl/status/status.h"

namespace strata {

// Prints the plan on stdout. Errors: those of the command line, of a file that is no model that can
// be run, and of a profile.
absl::Status PrintPlan(const std::string& model, bool json);

// Whether a flag was given that only a plan takes; for messages.
std::string FlagOfPlanGiven();

}  // namespace strata

#endif  // STRATA_TOOLS_PLAN_COMMAND_H_
