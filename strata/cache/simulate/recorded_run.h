// What a run did by its own record: the trace says which expert was in which slot at every step, so
// hits, misses and bytes are counted again exactly as the engine counted them.
#ifndef STRATA_CACHE_SIMULATE_RECORDED_RUN_H_
#define STRATA_CACHE_SIMULATE_RECORDED_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/trace/trace_records.h"

namespace strata {

struct RecordedRun {
  TraceHeader header;
  // As they were used, in order; empty when nothing was decided.
  std::vector<TraceRates> rates;
  // admissions, copies and copy_bytes are of swaps that showed.
  ReplayCounts counts;

  // Errors of RoutingTraceReader, and bad_record for an expert that comes where one is, or leaves
  // where none is.
  static absl::StatusOr<RecordedRun> Load(const std::string& path);
};

// The same run predicted from its routing, settings and rates alone: the policy decides afresh,
// prompts lend no slots, and a swap's copy takes one step.
absl::StatusOr<ReplayCounts> PredictRun(const std::string& path, const RecordedRun& run);

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_RECORDED_RUN_H_
