#include "strata/tools/stage_experiments/fill_job.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/device.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {
namespace {

int64_t Bytes(const ExpertFiles& files, absl::Span<const FillItem> items) {
  int64_t bytes = 0;
  for (const FillItem& item : items) {
    for (const ExpertSlice& slice : files.Slices(item.id)) bytes += slice.bytes;
  }
  return bytes;
}

}  // namespace

absl::StatusOr<FillSlots> FillSlots::Create(const Bench& bench, const ExpertFiles& files) {
  FillSlots slots(files);
  ASSIGN_OR_RETURN(const DeviceMemoryInfo info, bench.device.GetMemoryInfo());
  const int64_t fitting = info.free_bytes * 9 / 10 / slots.slot_bytes_;
  const int64_t count = std::min<int64_t>(
      {bench.effort.fill_slots, static_cast<int64_t>(files.ids().size()), fitting});
  if (count == 0) {
    return MachineError(absl::StrCat("the device has ", info.free_bytes, " bytes free: no slot of ",
                                     slots.slot_bytes_, " fits"));
  }
  ASSIGN_OR_RETURN(slots.memory_, bench.device.Allocate(count * slots.slot_bytes_));
  slots.count_ = static_cast<int>(count);
  return slots;
}

std::vector<FillItem> FillSlots::Items(int first, int num, uint64_t seed) const {
  std::vector<ExpertId> ids(files_->ids().begin(), files_->ids().end());
  std::mt19937_64 random(seed);
  std::shuffle(ids.begin(), ids.end(), random);
  std::vector<FillItem> items;
  for (int i = 0; i < num; ++i) {
    items.push_back({ids[i], memory_.data() + (first + i) * slot_bytes_});
  }
  return items;
}

absl::Status RunFill(const ExpertFiles& files, absl::Span<const FillItem> items,
                     CacheFiller& filler, FillTimes& times) {
  const CacheFiller::Counters before = filler.counters();
  const Stopwatch watch;
  filler.Start({.items = items});
  const double ordered = watch.Seconds();
  RETURN_IF_ERROR(filler.Finish());
  const double total = watch.Seconds();
  const CacheFiller::Counters after = filler.counters();
  times.order_us.push_back(ordered * 1e6);
  times.issue_us_per_copy.push_back(static_cast<double>(after.issue_ns - before.issue_ns) / 1e3 /
                                    static_cast<double>(after.num_copies - before.num_copies));
  times.total_ms.push_back(total * 1e3);
  times.gb_per_s.push_back(static_cast<double>(Bytes(files, items)) / total / 1e9);
  return absl::OkStatus();
}

}  // namespace strata::stagebench
