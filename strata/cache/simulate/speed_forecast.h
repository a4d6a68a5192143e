// What a machine makes of the bytes that a replay counted: tokens a second, and which of its parts
// sets that limit.
//
// Plain values. Rates in bytes per nanosecond: 50 GB/s is 50.
#ifndef STRATA_CACHE_SIMULATE_SPEED_FORECAST_H_
#define STRATA_CACHE_SIMULATE_SPEED_FORECAST_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/cache/simulate/replay_counts.h"

namespace strata {

struct MachineRates {
  double link = 50;  // From host memory to the device.
  double device_memory = 900;
  double dense_bytes = 0;  // That a step reads from the device besides experts.
  double fixed_ns = 0;     // Of a step, whatever it reads.
  std::string name;        // Of the device, for people.

  // `json` is what `stagebench --json` printed: kernel reads of host memory are the link, the best
  // of them; what it does not measure stays as it is in `rates`. Kind bad_machine, without a file.
  static absl::StatusOr<MachineRates> FromStagebench(absl::string_view json, MachineRates rates);
};

struct SpeedForecast {
  double tokens_per_s = 0;
  absl::string_view bound;  // "link", "memory" or "fixed".
};

// The link carries misses and copies, device memory the hits and what is dense; both at once.
SpeedForecast ForecastSpeed(const MachineRates& rates, const ReplayCounts& counts);

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_SPEED_FORECAST_H_
