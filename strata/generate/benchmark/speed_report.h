// What generate_benchmark prints: the run described, then rates with their quartiles.
#ifndef STRATA_GENERATE_BENCHMARK_SPEED_REPORT_H_
#define STRATA_GENERATE_BENCHMARK_SPEED_REPORT_H_

#include <string>

#include "absl/types/span.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/benchmark/speed_benchmark.h"

namespace strata {

// All facts of a run.
Json SpeedReport(const GgufFile& file, const SpeedOptions& options,
                 absl::Span<const SpeedResult> results);

// A report as text.
std::string SpeedText(const Json& report);

}  // namespace strata

#endif  // STRATA_GENERATE_BENCHMARK_SPEED_REPORT_H_
