// `profile_build simulate`: replays routing traces through the engine's policies and says what a
// cache of each size would have done.
#ifndef STRATA_TOOLS_SIMULATE_COMMAND_H_
#define STRATA_TOOLS_SIMULATE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/simulate/comparison.h"
#include "strata/cache/simulate/policies.h"
#include "strata/cache/simulate/routing_log.h"
#include "strata/core/cli/json_output.h"

namespace strata {

// The flags as they were given; empty and 0: the default.
struct SimulateFlags {
  std::vector<std::string> traces;
  std::string profile;
  std::string sizes = "10%,25%,50%";
  std::string policies = "static,lru,lfu,adaptive,rounds,s3fifo,learned,belady";
  std::string machine;
  std::string start;  // profile, empty; default: profile if there is one.
  std::string admission = "every-miss";
  double offered = 3;  // Percent.
  int window = 1;
  double link_gbps = 0;
  double device_gbps = 0;
};

// What a replay was asked, and what it gave.
struct Simulation {
  RoutingLog log;
  PolicyStart start;
  ComparisonOptions options;
  std::vector<std::string> size_names;
  std::vector<SizeResult> sizes;  // As size_names.

  // The smallest first.
  void SortBySize();
};

absl::StatusOr<Simulation> Simulate(const SimulateFlags& flags);
Json SimulationJson(const Simulation& simulation);
std::string SimulationScreen(const Simulation& simulation);

// Runs whose trace holds what the tier did: counted again from the record, and predicted from the
// routing alone, beside each other.
struct ReplayedRun {
  std::string path;
  Json json;
  std::string line;
};
absl::StatusOr<ReplayedRun> ReplayRecord(const std::string& path);

}  // namespace strata

#endif  // STRATA_TOOLS_SIMULATE_COMMAND_H_
