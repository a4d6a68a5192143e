// A step of a model that does nothing but read its experts, by copies on the stream of the kernels:
// StepChecker for any device. The stream is busy for a while first, so that the reads come late;
// then it reads the table's image and each expert where its entry points, in a slot or, as the
// device sees it, in host memory.
//
// What was read must be the entries as they were at Launch, and the bytes of the files. Experts
// that have to be staged are not read.
//
// Used again and again, one step at a time, by one thread. The rest outlives it.
#ifndef STRATA_CACHE_TIER_TESTING_READING_STEP_H_
#define STRATA_CACHE_TIER_TESTING_READING_STEP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"

namespace strata {

class ReadingStep {
 public:
  struct Counts {
    int64_t from_slots = 0;
    int64_t from_host = 0;
    int64_t staged = 0;         // Entries alone.
    int64_t wrong_entries = 0;  // Of the whole image, each step.
    int64_t wrong_experts = 0;
  };

  // The table has an image; a step reads at most `max_experts`.
  ReadingStep(Device& device, const DeviceStream& stream, const TestExperts& experts,
              const ExpertGeometry& geometry, const ExpertTable& table, int max_experts);
  ~ReadingStep();

  // Queues the step, which ends with the event.
  absl::StatusOr<DeviceEvent> Launch(absl::Span<const int> numbers);
  // Blocks until the step has ended and compares what it read; nothing without a step.
  absl::Status Finish();

  const Counts& counts() const { return counts_; }

 private:
  absl::Status QueueRead(int number, int64_t offset);
  void CompareImage();
  void CompareExpert(int number, const std::byte* blob);

  Device& device_;
  const DeviceStream& stream_;
  const TestExperts& experts_;
  const ExpertGeometry& geometry_;
  const ExpertTable& table_;
  const int64_t blob_bytes_;   // Of the largest.
  const DeviceMemory staged_;  // Where experts pass that are read from host memory.
  const PinnedMemory blobs_;   // What was read, by the step's own order.
  const PinnedMemory image_;
  std::vector<int> numbers_;
  std::vector<ExpertEntry> entries_;  // Of all experts, at Launch.
  DeviceEvent event_;
  Counts counts_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_READING_STEP_H_
