// What a run cost, for programs; stats_table.h shows it to people.
#ifndef STRATA_GENERATE_COMMANDS_GENERATION_REPORT_H_
#define STRATA_GENERATE_COMMANDS_GENERATION_REPORT_H_

#include "strata/core/cli/json_output.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/loading/text_model.h"

namespace strata {

// Of one answer. `before` are the model's counters when it began. Names as in the design of the
// ledger (docs/design/generate.md).
Json StatsJson(const Generation& generation, const TextModel& model,
               const TextModel::Counters& before);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_GENERATION_REPORT_H_
