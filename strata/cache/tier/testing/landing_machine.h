// A tier whose misses land, over a HostDevice, with steps that play the kernels: each waits for its
// result before the next one begins.
#ifndef STRATA_CACHE_TIER_TESTING_LANDING_MACHINE_H_
#define STRATA_CACHE_TIER_TESTING_LANDING_MACHINE_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/testing/landing_step.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/core/host_device.h"

namespace strata {

class LandingMachine {
 public:
  // The tier is told to patch by steps and to offer `offered_share`.
  LandingMachine(TierParts::Options options, double offered_share,
                 const HostDevice::Options& device_options = {});
  ~LandingMachine() { device.Drain(parts->stream); }

  // How a step fails.
  enum class Fault { kNone, kNotLaunched, kStopsHalfWay };

  // A whole step that uses these experts, each once, from BeginStep to AddLandings.
  absl::Status Step(absl::Span<const int> numbers, Fault fault = Fault::kNone);
  // The same in two halves, for who does something between.
  void BeginStep(absl::Span<const int> numbers, Fault fault = Fault::kNone);
  absl::Status EndStep();

  std::vector<int> Landed() const;
  bool InSlot(int number) const { return parts->tier->Entry(number).form == EntryForm::kSlot; }
  const LandingStep::Counts& counts() const { return step->counts(); }
  // Of experts and entries that steps have read.
  int64_t num_wrong() const { return counts().wrong_entries + counts().wrong_experts; }
  // Slots that are resident and whose bytes are not those of the file.
  int NumWrongSlots() const;

  HostDevice device;
  std::unique_ptr<TierParts> parts;
  std::unique_ptr<LandingStep> step;

 private:
  std::vector<int> numbers_;
  Fault fault_ = Fault::kNone;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_LANDING_MACHINE_H_
