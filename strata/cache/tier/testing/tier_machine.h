// A tier over a HostDevice, for tests, and a model that does nothing but read its experts through
// the table and compare them with the files.
#ifndef STRATA_CACHE_TIER_TESTING_TIER_MACHINE_H_
#define STRATA_CACHE_TIER_TESTING_TIER_MACHINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/host_device.h"

namespace strata {

// The place of a kernel: runs on the stream, at its own time, finds experts through the table's
// image and compares the bytes there with the files'.
class StepChecker {
 public:
  StepChecker(HostDevice& device, const DeviceStream& stream, const TestExperts& experts,
              const ExpertGeometry& geometry, const ExpertTable& table)
      : device_(device), stream_(stream), experts_(experts), geometry_(geometry), table_(table) {}

  // Reads the experts; with `exactly` their entries in the image must be those of the host now.
  void Launch(std::vector<int> numbers, bool exactly);

  // So far: experts of steps that were launched, and of the kernels that have run. A kernel behind
  // a failed patch does not run, so what it was to read is launched and never read.
  int64_t num_launched() const { return num_launched_; }
  int64_t num_read() const { return num_read_; }
  int64_t num_wrong() const { return num_wrong_; }

 private:
  bool IsRight(int number, const ExpertEntry& entry) const;

  HostDevice& device_;
  const DeviceStream& stream_;
  const TestExperts& experts_;
  const ExpertGeometry& geometry_;
  const ExpertTable& table_;
  int64_t num_launched_ = 0;
  std::atomic<int64_t> num_read_ = 0, num_wrong_ = 0;
};

// Outlives the parts of a TierMachine.
struct TierMachineDevice {
  explicit TierMachineDevice(const HostDevice::Options& options) : device(options) {}
  HostDevice device;
};

class TierMachine : public TierMachineDevice, public TierParts {
 public:
  explicit TierMachine(const Options& options, const HostDevice::Options& device_options = {
                                                   .max_delay_yields = 2, .shuffle_batches = true});
  ~TierMachine();

  // A whole step of one token per entry of `tokens`, each an index by layer and rank; `accepted`
  // tokens move the policy. Waits for the step before it, as an engine with two steps in flight.
  using Token = std::vector<std::vector<int>>;
  void Step(const std::vector<Token>& tokens, bool accepted = true);
  // The same for the experts of these indices in all layers.
  void StepWith(const std::vector<int>& indices) {
    Step({Token(geometry.layers().size(), indices)});
  }
  // Such steps until `is_done`, with a pause after each: swaps take their time beside the steps,
  // and these take none. Returns how many it took; dies when it takes for ever.
  int StepUntil(const std::vector<int>& indices, const std::function<bool()>& is_done);
  // Whether the experts of these indices have slots in all layers.
  bool ServesFromSlots(const std::vector<int>& indices) const;
  // Steps that use nothing, until no copy is under way.
  void Settle();
  void FinishSteps();

  // Slots that are resident and whose bytes are not those of the file; of all, or of one in
  // `stride`.
  int NumWrongSlots(int first = 0, int stride = 1) const;

  std::unique_ptr<StepChecker> checker;
  // Whether the device may refuse things: then steps fail now and then and are made good.
  bool faulty = false;
  int64_t num_failed_steps = 0;

 private:
  // Waits for an event; when the stream has failed it is drained and the table written anew.
  void Await(const DeviceEvent& event);

  DeviceEvent previous_, last_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_TIER_MACHINE_H_
