// Copies the experts that a prompt's step chose from host memory into device memory, before kernels
// compute with them: each crosses the link once, however many tiles of rows it has, and nobody asks the
// host which they are.
#ifndef STRATA_GENERATE_KERNELS_CUDA_FETCH_EXPERTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_FETCH_EXPERTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_group.h"

namespace strata {

// Of a layer. An expert that has tiles is copied, these parts of its blob, from where `from` says to where `to`
// says, unless both are the same place or the first is null; others are left alone. Both are in device memory.
struct ExpertFetch {
  const DeviceExpert* from = nullptr;  // [num_experts]
  const DeviceExpert* to = nullptr;    // [num_experts]
  PromptGroups groups;
  int first_part = 0, num_parts = 0;
  int64_t part_bytes[3] = {};
};

absl::Status LaunchExpertFetch(const ExpertFetch& fetch, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_FETCH_EXPERTS_H_
