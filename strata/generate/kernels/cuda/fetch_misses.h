// After the router of a layer, in a step of few rows: the experts that it has chosen and that no slot
// holds come from host memory into device memory, each once however many rows have chosen it, and
// the layer's kernels find all that it has chosen in device memory. A copy reads the link faster
// than products do, which wait for what they compute with.
//
// Where an expert comes to: into a slot that the step offers, if its entry is marked, while there are
// offers (cache/tier/landing.h); else into memory for this layer alone, while there is room; else it stays
// where it is. The table itself does not change.
#ifndef STRATA_GENERATE_KERNELS_CUDA_FETCH_MISSES_H_
#define STRATA_GENERATE_KERNELS_CUDA_FETCH_MISSES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {

// All addresses are of device memory. The parts of an expert lie at multiples of 16 bytes wherever
// they are, and up to 15 bytes behind a part may be read and written with it.
struct FetchTask {
  int rows = 1;
  DeviceRouting routing;
  const DeviceExpert* experts = nullptr;  // [num_experts] of the layer, of the image of the table.
  int num_parts = 0;                      // Of each of them.
  int64_t part_bytes[3] = {};
  DeviceExpert* found = nullptr;  // [num_experts]: of the chosen ones, where their parts are.

  std::byte* memory = nullptr;  // 256-byte aligned, for this layer alone.
  int64_t memory_bytes = 0;
  // What does not land stays where it is, and `found` says that it is in no slot: somebody else
  // computes it.
  bool leaves_rest = false;

  int layer = 0;  // Among those that have experts.
  // Null where nothing lands.
  const DeviceLandingHead* head = nullptr;
  int num_groups = 0;
  DeviceLandingGroup* groups = nullptr;  // By landing class.
  const LandingOffer* offers = nullptr;
  // What has landed, so far: more is added at the end of the list.
  DeviceLandingCount* count = nullptr;
  Landing* landings = nullptr;
};

absl::Status FetchMisses(const FetchTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_FETCH_MISSES_H_
