// Measurements as text for people and as JSON for programs.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_REPORT_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_REPORT_H_

#include <string>

#include "absl/types/span.h"
#include "strata/core/cli/json_output.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

// A table for each experiment: an arm a row, each figure as "median (first quartile to third)".
std::string ReportText(absl::Span<const Measurement> measurements);

// [{experiment, arm, figures: {name: {median, low, high, samples}}, notes: {name: number},
// remark}].
Json ReportJson(absl::Span<const Measurement> measurements);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_REPORT_H_
