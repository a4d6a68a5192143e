// What every experiment of stagebench gets: the device, pinned memory, the blobs, and how much to
// do.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_BENCH_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_BENCH_H_

#include <cstdint>

#include "strata/cache/experts/expert_files.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata::stagebench {

// Sizes of the experiments. The defaults are those of the figures in docs/benchmarks.
struct Effort {
  int64_t copy_bytes = 1536 * 1024;  // One copy of "per copy" and of queued copies.
  int ring_buffers = 64;
  int num_copies = 512;      // Of "per copy", in each arm.
  int queued_copies = 2048;  // Of "sustained", in each arm.
  int repetitions = 5;       // Of everything else.
  int pinned_buffers = 257;  // Of "pinning".
  int64_t probe_bytes = int64_t{1} << 30;
  int fill_slots = 10000;
  int refill_slots = 530;
  int swaps = 32;
  int num_stages = 32;
  int num_readers = 12;

  // Everything within a few seconds.
  static Effort Quick();
};

struct Bench {
  Device& device;
  PinBudget& budget;
  HostMemory::Options stage_memory;  // Of the stages that are not the reference's.
  const GgufFile& file;
  const ExpertLayout& layout;
  Effort effort;
  // The experts of the model as a pack holds them; null without a pack.
  const ExpertFiles* pack = nullptr;
  // Of large pinned copies to the device, probed in this run; 0 when they could not be pinned.
  double link_gb_per_s = 0;
};

// From a pack if there is one, else the model's slices.
ExpertFiles ExpertsOf(const Bench& bench);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_BENCH_H_
