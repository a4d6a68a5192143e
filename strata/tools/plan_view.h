// A MachinePlan for people and for programs.
#ifndef STRATA_TOOLS_PLAN_VIEW_H_
#define STRATA_TOOLS_PLAN_VIEW_H_

#include <string>

#include "strata/core/cli/json_output.h"
#include "strata/generate/placement/footprint.h"
#include "strata/tools/machine_plan.h"

namespace strata {

// What the plan is for, as it was asked.
struct PlanRequest {
  Machine machine;
  FootprintOptions footprint;
  std::string kv;      // "f32", "f16", "int8".
  std::string device;  // Whose kernels it counts: "cuda", "cpu".
  // Why they are the CPU's, where a GPU's would have been taken; empty otherwise.
  std::string why_not_cuda;
};

// Without what is short: that is an error, and said as one.
std::string PlanText(const PlanRequest& request, const MachinePlan& plan);
Json PlanJson(const PlanRequest& request, const MachinePlan& plan);

}  // namespace strata

#endif  // STRATA_TOOLS_PLAN_VIEW_H_
