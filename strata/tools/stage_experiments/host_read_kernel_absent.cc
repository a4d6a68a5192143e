#include "absl/status/status.h"
#include "strata/tools/stage_experiments/host_read_kernel.h"

namespace strata::stagebench {

bool HasHostReadKernel() { return false; }

absl::Status LaunchHostRead(const ReadSlice*, int, int, uint32_t*, const DeviceStream&) {
  return absl::UnimplementedError("this program was built without the CUDA toolkit");
}

}  // namespace strata::stagebench
