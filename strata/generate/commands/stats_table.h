// What a run cost, for people: groups of lines, with units.
#ifndef STRATA_GENERATE_COMMANDS_STATS_TABLE_H_
#define STRATA_GENERATE_COMMANDS_STATS_TABLE_H_

#include <string>

#include "strata/core/cli/json_output.h"

namespace strata {

// Of what StatsJson gives (generation_report.h). What did not happen has no line.
std::string StatsTable(const Json& stats);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_STATS_TABLE_H_
