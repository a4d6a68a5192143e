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
  std::string kv;  // "f32", "f16", "int8".
};

std::string PlanText(const PlanRequest& request, const MachinePlan& plan);
Json PlanJson(const PlanRequest& request, const MachinePlan& plan);

}  // namespace strata

#endif  // STRATA_TOOLS_PLAN_VIEW_H_
