// Launching kernels on a stream, on request so that a kernel may begin while its predecessor ends
// (programmatic dependent launch, compute capability 9.0 and newer).
//
// The rules of a kernel that is launched so: each of its blocks calls WaitForPredecessor, also one
// that has nothing to do; it calls ReleaseSuccessor after that and never before; until the wait it
// reads weights alone, bytes that no kernel writes; and what a predecessor writes is never read by
// ld.nc or through `const __restrict__`, since such loads may move above the wait. Copies and
// memsets between two kernels end the chain. By these rules a kernel that has started knows that
// the last but one before it has ended, so what was stored up to there may be read early too, if
// the caller says that it was (AttendTask::begins_early).
#ifndef STRATA_GENERATE_KERNELS_CUDA_LAUNCH_H_
#define STRATA_GENERATE_KERNELS_CUDA_LAUNCH_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cuda_runtime.h"
#include "strata/core/cuda_status.h"

namespace strata {

// Where kernels go, and how.
struct KernelStream {
  cudaStream_t stream = nullptr;
  bool programmatic = false;  // Each kernel follows the rules above.
};

struct KernelShape {
  dim3 grid = 1;
  dim3 block = 1;
  size_t shared_bytes = 0;  // Dynamic shared memory; above 48 KiB the kernel was told before.
};

// Launches `kernel`; `name` is for messages. An error of the launch, not of what runs.
template <typename... Parameters, typename... Arguments>
absl::Status LaunchKernel(absl::string_view name, void (*kernel)(Parameters...),
                          const KernelShape& shape, const KernelStream& stream,
                          Arguments&&... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream.stream;
  config.attrs = &attribute;
  config.numAttrs = stream.programmatic ? 1 : 0;
  return CudaStatus(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
                    name);
}

#ifdef __CUDACC__
// Returns when the kernel before has ended and what it wrote can be read. At once where kernels are
// not launched programmatically.
__device__ __forceinline__ void WaitForPredecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel may begin to start. Its own wait still holds until this one has ended.
__device__ __forceinline__ void ReleaseSuccessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_LAUNCH_H_
