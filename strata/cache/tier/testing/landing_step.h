// The kernels of a step that patches the table and lands misses, played on a HostDevice: one
// function on the stream, at its own time. It writes the patch into the image, finds each expert
// there, compares its bytes with the file's, and stores those of marked misses in offered slots as
// landing.h says. What it has stored is what it then says, as a GPU's step does.
//
// One step at a time, by one thread. The rest outlives it.
#ifndef STRATA_CACHE_TIER_TESTING_LANDING_STEP_H_
#define STRATA_CACHE_TIER_TESTING_LANDING_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/landing.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"

namespace strata {

class LandingStep {
 public:
  struct Counts {
    int64_t num_read = 0;
    int64_t num_hits = 0;
    int64_t num_landed = 0;
    int64_t wrong_entries = 0;  // Of the whole image, each step.
    int64_t wrong_experts = 0;
  };

  LandingStep(HostDevice& device, const DeviceStream& stream, const TestExperts& experts,
              const ExpertGeometry& geometry, const ExpertTier& tier);

  // Queues the step that the tier has begun; it uses these experts. It may stop half way, its last
  // store cut short.
  void Launch(absl::Span<const int> numbers, bool stops_half_way = false);
  // Of the step launched last, when it has ended: what has landed.
  absl::Span<const Landing> landings() const { return landings_; }
  const Counts& counts() const { return counts_; }

 private:
  void Run();
  void WritePatch();
  void CompareImage();
  void ReadAndLand(int number);
  const LandingOffer* NextOffer(int number, const ExpertEntry& entry);
  void Store(int number, const ExpertEntry& entry, const LandingOffer& offer);

  HostDevice& device_;
  const DeviceStream& stream_;
  const TestExperts& experts_;
  const ExpertGeometry& geometry_;
  const ExpertTier& tier_;
  // Of the step, as the host would write them into the step's block.
  std::vector<int> numbers_;
  std::vector<TablePatch> patch_;
  std::vector<ExpertEntry> expected_;  // Of all experts.
  std::vector<LandingOffer> offers_;
  std::vector<LandingGroup> groups_;
  int first_layer_ = 0;
  bool stops_half_way_ = false;
  std::vector<int> num_given_;  // By landing class.
  std::vector<Landing> landings_;
  Counts counts_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_LANDING_STEP_H_
