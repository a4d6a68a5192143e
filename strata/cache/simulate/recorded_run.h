// What a run did by its own record: the trace says which expert was in which slot at every step, so
// hits, misses and bytes are counted again exactly as the engine counted them.
#ifndef STRATA_CACHE_SIMULATE_RECORDED_RUN_H_
#define STRATA_CACHE_SIMULATE_RECORDED_RUN_H_

#include <cstdint>
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
  // Of each round of swaps that showed, in order: the step after which it was decided, and the
  // steps that went by before its newcomers showed. The machine's doing, not the policy's.
  struct Delay {
    int64_t step = 0;
    int steps = 0;
  };
  std::vector<Delay> delays;
  // Of landing: the steps that offered slots, in order, and what came of it.
  std::vector<int64_t> offering_steps;
  int64_t offered = 0;
  int64_t landed = 0;
  int64_t landed_bytes = 0;
  // admissions are swaps and landings that showed, copies and copy_bytes of swaps.
  ReplayCounts counts;

  // Errors of RoutingTraceReader, and bad_record for an expert that comes where one is, or leaves
  // where none is.
  static absl::StatusOr<RecordedRun> Load(const std::string& path);
};

// The same run predicted: from its routing, its settings, and what the machine was like, its rates,
// how long copies took and after which steps it had time for a round, or which steps offered slots
// to land in. The policy decides afresh what moves, and prompts lend no slots.
absl::StatusOr<ReplayCounts> PredictRun(const std::string& path, const RecordedRun& run);

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_RECORDED_RUN_H_
