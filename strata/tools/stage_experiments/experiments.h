// The list of stagebench's experiments, by the names that --arms takes.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_EXPERIMENTS_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_EXPERIMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

// "copies,pinning,queued,kernels,readers,jobs".
std::string AllExperiments();

// Which of them a comma-separated list names; a UsageError for a name that is none.
absl::StatusOr<std::vector<std::string>> ParseExperiments(absl::string_view list);

// Probes the link, then runs the experiments in the order above. One line on stderr before each.
absl::StatusOr<std::vector<Measurement>> RunExperiments(const std::vector<std::string>& names,
                                                        bool verify, Bench bench);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_EXPERIMENTS_H_
