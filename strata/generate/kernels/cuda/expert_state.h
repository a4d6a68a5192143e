// What a table of experts says beside their addresses: whether one is in device memory. Kernels that
// read experts wherever they are do without.
#ifndef STRATA_GENERATE_KERNELS_CUDA_EXPERT_STATE_H_
#define STRATA_GENERATE_KERNELS_CUDA_EXPERT_STATE_H_

#include <cstddef>
#include <cstdint>

#include "strata/cache/tier/expert_entry.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// The last word of an entry: generation, form and landing of an ExpertEntry.
constexpr size_t kStateWord = 3;
static_assert(offsetof(ExpertEntry, generation) == kStateWord * sizeof(uint64_t) &&
                  sizeof(ExpertEntry) == sizeof(DeviceExpert),
              "kernels read the image of the table as entries of theirs");

STRATA_NUMERIC bool IsSlotState(uint64_t state) {
  return static_cast<EntryForm>(state >> 32 & 0xff) == EntryForm::kSlot;
}

#ifdef __CUDACC__
__device__ __forceinline__ bool IsInSlot(const DeviceExpert& entry) {
  return IsSlotState(__ldcg(reinterpret_cast<const unsigned long long*>(&entry) + kStateWord));
}
#endif

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_EXPERT_STATE_H_
