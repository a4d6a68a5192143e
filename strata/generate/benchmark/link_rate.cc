#include "strata/generate/benchmark/link_rate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {

absl::StatusOr<double> MeasureLink(Device& device) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  constexpr int kCopies = 8;
  ASSIGN_OR_RETURN(const DeviceStream stream, device.CreateStream());
  ASSIGN_OR_RETURN(const PinnedMemory from, device.AllocatePinned(kBytes));
  ASSIGN_OR_RETURN(const DeviceMemory to, device.Allocate(kBytes));
  std::memset(from.data(), 1, static_cast<size_t>(kBytes));
  double best = 0;
  for (int i = 0; i < kCopies; ++i) {
    const Stopwatch stopwatch;
    RETURN_IF_ERROR(device.CopyToDevice(
        to.data(), absl::MakeConstSpan(from.data(), static_cast<size_t>(kBytes)), stream));
    ASSIGN_OR_RETURN(const DeviceEvent arrived, device.Record(stream));
    RETURN_IF_ERROR(device.Wait(arrived));
    best = std::max(best, static_cast<double>(kBytes) / stopwatch.seconds());
  }
  return best;
}

}  // namespace strata
