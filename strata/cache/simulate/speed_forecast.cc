#include "strata/cache/simulate/speed_forecast.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using Json = nlohmann::json;

// The median of a measurement; 0 when it has none.
double Median(const Json& measurement) {
  const auto figures = measurement.find("figures");
  if (figures == measurement.end() || !figures->is_object()) return 0;
  const auto rate = figures->find("gb_per_s");
  if (rate == figures->end() || !rate->is_object()) return 0;
  const auto median = rate->find("median");
  return median != rate->end() && median->is_number() ? median->get<double>() : 0;
}

}  // namespace

absl::StatusOr<MachineRates> MachineRates::FromStagebench(absl::string_view json,
                                                          MachineRates rates) {
  const Json root = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  const auto measurements = root.is_object() ? root.find("measurements") : root.end();
  if (!root.is_object() || measurements == root.end() || !measurements->is_array()) {
    return InputError("bad_machine", "", "it is not what stagebench --json prints");
  }
  double link = 0, reads = 0;
  for (const Json& measurement : *measurements) {
    if (!measurement.is_object()) continue;
    const auto experiment = measurement.find("experiment");
    if (experiment == measurement.end()) continue;
    if (*experiment == "link") link = std::max(link, Median(measurement));
    if (*experiment == "kernel reads") reads = std::max(reads, Median(measurement));
  }
  if (reads > 0 || link > 0) rates.link = reads > 0 ? reads : link;
  const auto device = root.find("device");
  if (device != root.end() && device->is_string()) rates.name = device->get<std::string>();
  return rates;
}

SpeedForecast ForecastSpeed(const MachineRates& rates, const ReplayCounts& counts) {
  if (counts.tokens == 0) return {};
  const auto steps = static_cast<double>(counts.steps);
  const double link_ns = static_cast<double>(counts.link_bytes + counts.copy_bytes) / rates.link;
  const double memory_ns =
      (static_cast<double>(counts.slot_bytes) + rates.dense_bytes * steps) / rates.device_memory;
  const double fixed_ns = rates.fixed_ns * steps;
  const double total_ns = std::max(link_ns, memory_ns) + fixed_ns;
  SpeedForecast forecast = {.bound = link_ns >= memory_ns ? "link" : "memory"};
  if (fixed_ns > std::max(link_ns, memory_ns)) forecast.bound = "fixed";
  if (total_ns > 0) forecast.tokens_per_s = 1e9 * static_cast<double>(counts.tokens) / total_ns;
  return forecast;
}

}  // namespace strata
