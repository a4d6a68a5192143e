// After a layer's router: the offers of the step go to the marked misses of the layer, each expert
// once however many rows have chosen it, by ascending index, while there are any (landing.h).
#ifndef STRATA_GENERATE_KERNELS_CUDA_ASSIGN_LANDINGS_H_
#define STRATA_GENERATE_KERNELS_CUDA_ASSIGN_LANDINGS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {

// All in device memory.
struct AssignTask {
  int rows = 1;
  DeviceRouting routing;
  const DeviceExpert* experts = nullptr;  // [num_experts], of the layer.
  int layer = 0;                          // Among those that have experts.
  const DeviceLandingHead* head = nullptr;
  DeviceLandingGroup* groups = nullptr;  // By landing class.
  const LandingOffer* offers = nullptr;
  int32_t* of_expert = nullptr;  // LandingPlaces::of_expert; of the chosen ones it is written.
  // What has landed, so far: more is added at the end of the list.
  DeviceLandingCount* count = nullptr;
  Landing* landings = nullptr;
};

absl::Status AssignLandings(const AssignTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ASSIGN_LANDINGS_H_
