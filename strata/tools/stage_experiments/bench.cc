#include "strata/tools/stage_experiments/bench.h"

#include "strata/cache/experts/expert_files.h"

namespace strata::stagebench {

Effort Effort::Quick() {
  Effort effort;
  effort.ring_buffers = 16;
  effort.num_copies = 64;
  effort.queued_copies = 128;
  effort.repetitions = 3;
  effort.pinned_buffers = 32;
  effort.probe_bytes = int64_t{64} << 20;
  effort.fill_slots = 128;
  effort.refill_slots = 32;
  effort.num_readers = 8;
  return effort;
}

ExpertFiles ExpertsOf(const Bench& bench) {
  return bench.pack != nullptr ? *bench.pack : ExpertFiles(bench.file, bench.layout);
}

}  // namespace strata::stagebench
