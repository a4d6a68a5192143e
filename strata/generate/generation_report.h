// What a run cost, for people and for programs.
#ifndef STRATA_GENERATE_GENERATION_REPORT_H_
#define STRATA_GENERATE_GENERATION_REPORT_H_

#include <string>

#include "strata/core/cli/json_output.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"

namespace strata {

// Of one answer. `before` are the engine's counters when it began. Names as in the design of the
// ledger (docs/design/generate.md): on the CPU every routed entry is served from the file's
// mapping, so all of them are misses that the CPU computes, and all bytes come from the file.
Json StatsJson(const Generation& generation, const Engine& engine, const Engine::Counters& before);

// The same as lines of a table.
std::string StatsTable(const Json& stats);

}  // namespace strata

#endif  // STRATA_GENERATE_GENERATION_REPORT_H_
