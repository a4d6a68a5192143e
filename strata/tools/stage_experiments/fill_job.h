// One fill of slots as experiments time it.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_FILL_JOB_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_FILL_JOB_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/device.h"
#include "strata/core/device_loan.h"
#include "strata/tools/stage_experiments/bench.h"

namespace strata::stagebench {

// Slots of one size in device memory, and which expert goes into each. The files outlive it.
class FillSlots {
 public:
  // As many as the bench asks for, there are experts, and memory allows; a MachineError when none.
  static absl::StatusOr<FillSlots> Create(const Bench& bench, const ExpertFiles& files);

  int count() const { return count_; }

  // `num` experts in no order of the file, into the slots from `first` on. Another `seed`, other
  // experts.
  std::vector<FillItem> Items(int first, int num, uint64_t seed) const;

 private:
  explicit FillSlots(const ExpertFiles& files)
      : files_(&files), slot_bytes_(files.max_blob_bytes()) {}

  const ExpertFiles* files_;
  int64_t slot_bytes_;
  DeviceMemory memory_;
  int count_ = 0;
};

// What runs of a job took: the thread that ordered it, the calls that queued its copies, and in
// all.
struct FillTimes {
  std::vector<double> order_us, issue_us_per_copy, total_ms, gb_per_s;
};

// Fills the items' destinations once and adds what it took.
absl::Status RunFill(const ExpertFiles& files, absl::Span<const FillItem> items,
                     CacheFiller& filler, FillTimes& times);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_FILL_JOB_H_
