// The only place where a cudaError_t becomes a status. Exists only where there is a CUDA toolkit.
#ifndef STRATA_CORE_CUDA_STATUS_H_
#define STRATA_CORE_CUDA_STATUS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cuda_runtime_api.h"

namespace strata {

// Names the call, the bytes it was about and the driver's text. The driver's error state is cleared
// at once: it would surface in a later, unrelated call.
absl::Status CudaStatus(cudaError_t error, absl::string_view call,
                        std::optional<int64_t> bytes = std::nullopt);

}  // namespace strata

#endif  // STRATA_CORE_CUDA_STATUS_H_
