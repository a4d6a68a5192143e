// How fast copies from pinned host memory reach a device: what experts without a slot are measured
// against.
#ifndef STRATA_GENERATE_BENCHMARK_LINK_RATE_H_
#define STRATA_GENERATE_BENCHMARK_LINK_RATE_H_

#include "absl/status/statusor.h"
#include "strata/core/device.h"

namespace strata {

// Bytes a second, the best of a few copies of some MiB; the device is otherwise idle. Errors of the
// device: no memory for them.
absl::StatusOr<double> MeasureLink(Device& device);

}  // namespace strata

#endif  // STRATA_GENERATE_BENCHMARK_LINK_RATE_H_
