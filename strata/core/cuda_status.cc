#include "strata/core/cuda_status.h"

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cuda_runtime_api.h"

namespace strata {
namespace {

absl::StatusCode CodeOf(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::StatusCode::kResourceExhausted;
    case cudaErrorHostMemoryAlreadyRegistered:
      return absl::StatusCode::kAlreadyExists;
    case cudaErrorNotSupported:
    case cudaErrorCallRequiresNewerDriver:
      return absl::StatusCode::kUnimplemented;
    case cudaErrorInvalidValue:
      return absl::StatusCode::kInvalidArgument;
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorInvalidDevice:
    case cudaErrorNoDevice:
    case cudaErrorStubLibrary:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorDevicesUnavailable:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status CudaStatus(cudaError_t error, absl::string_view call, std::optional<int64_t> bytes) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  return absl::Status(
      CodeOf(error),
      absl::StrCat(call, bytes.has_value() ? absl::StrCat(" of ", *bytes, " bytes") : "", ": ",
                   cudaGetErrorString(error), " (", cudaGetErrorName(error), ")"));
}

}  // namespace strata
