// The page that `profile_build report` writes: one file without references to any other, for a
// person who has never seen it and wants to know which cache size to choose.
#ifndef STRATA_TOOLS_REPORT_PAGE_H_
#define STRATA_TOOLS_REPORT_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "strata/tools/simulate_command.h"

namespace strata {

// What to do about the size `chosen` of the simulation's, in one or two plain sentences.
std::string Advice(const Simulation& simulation, size_t chosen);

// `counts` by expert: what the heat map and the coverage curve show.
std::string ReportPage(const Simulation& simulation, size_t chosen,
                       const std::vector<uint64_t>& counts);

}  // namespace strata

#endif  // STRATA_TOOLS_REPORT_PAGE_H_
